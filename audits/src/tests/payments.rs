//! The questions to the database of payments.

use diesel_migrations::{EmbeddedMigrations, embed_migrations};

use super::{Damage, sees};

/// One payment that is kept, and one that was captured too late and given back.
const SOUND: &str = "
    INSERT INTO payment (id, tenant_id, order_id, amount, currency, payment_method, state, cancel_requested,
                         processor_intent, refund_reserved, expires_at)
    VALUES (id(1), 't', id(11), 450, 'EUR', 'pm_card_visa', 'captured', false, 'pi_1', 0, clock_timestamp()),
           (id(2), 't', id(12), 450, 'EUR', 'pm_card_visa', 'captured', true, 'pi_2', 450, clock_timestamp());
    INSERT INTO refund (id, tenant_id, payment_id, cause, amount, state, processor_refund)
    VALUES (id(3), 't', id(2), 'order_cancelled', 450, 'succeeded', 're_3');
    INSERT INTO intent (id, tenant_id, kind, payment_id, provider_key, request)
    VALUES (id(1), 't', 'charge', id(1), 'one', ''), (id(2), 't', 'charge', id(2), 'two', ''),
           (id(3), 't', 'refund', id(2), 'three', '');
    INSERT INTO audit_fact (id, tenant_id, actor, action, subject_type, subject_id, operation_id, details)
    VALUES (id(21), 't', '@system', 'payment.charge', 'payment', id(1)::text, id(1), '{}'),
           (id(22), 't', '@system', 'payment.charge', 'payment', id(2)::text, id(2), '{}'),
           (id(23), 't', '@system', 'payment.refund', 'refund', id(3)::text, id(3), '{}');";

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../migrations/payments");

const DAMAGES: &[Damage] = &[
    ("refunds_stay_within_the_capture", "UPDATE payment SET refund_reserved = 449 WHERE id = id(2)"),
    ("refunds_stay_within_the_capture", "UPDATE refund SET amount = 451"),
    (
        "refunds_stay_within_the_capture",
        "ALTER TABLE payment DROP CONSTRAINT refunds_within_capture;
         UPDATE payment SET refund_reserved = 451 WHERE id = id(2);
         UPDATE refund SET amount = 451",
    ),
    ("a_cancelled_order_keeps_no_money", "UPDATE payment SET cancel_requested = true WHERE id = id(1)"),
    ("a_cancelled_order_keeps_no_money", "UPDATE refund SET state = 'failed', failure_code = 'no'"),
    ("a_cancelled_order_keeps_no_money", "UPDATE refund SET amount = 449"),
    ("an_intent_belongs_to_one_wish", "DELETE FROM intent WHERE id = id(1)"),
    ("an_intent_belongs_to_one_wish", "DELETE FROM audit_fact WHERE id = id(23)"),
    (
        "an_intent_belongs_to_one_wish",
        "INSERT INTO audit_fact (id, tenant_id, actor, action, subject_type, subject_id, operation_id, details)
         VALUES (id(24), 't', '@system', 'payment.charge', 'payment', id(1)::text, id(4), '{}')",
    ),
    (
        "money_is_settled",
        "UPDATE payment SET state = 'unknown', expires_at = clock_timestamp() - interval '61 seconds' WHERE id = id(1)",
    ),
    (
        "money_is_settled",
        "UPDATE refund SET state = 'pending', updated_at = clock_timestamp() - interval '61 seconds'",
    ),
];

#[tokio::test]
async fn every_question_to_payments_sees_its_damage() {
    sees("payments", MIGRATIONS, &[SOUND], DAMAGES).await;
}
