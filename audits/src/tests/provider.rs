//! The questions to the processor's own books.

use diesel_migrations::{EmbeddedMigrations, embed_migrations};

use super::{Damage, sees};

/// One charge, a part of which was given back; and one that was declined for the same payment before.
const SOUND: &str = r#"
    INSERT INTO payment_intent (id, amount, currency, status, metadata)
    VALUES ('pi_0', 450, 'eur', 'requires_payment_method', '{"reference": "payment"}'),
           ('pi_1', 450, 'eur', 'succeeded', '{"reference": "payment"}');
    INSERT INTO charge (id, payment_intent, amount, amount_refunded, currency, payment_method, status)
    VALUES ('ch_0', 'pi_0', 450, 0, 'eur', 'pm_card_visa', 'failed'),
           ('ch_1', 'pi_1', 450, 100, 'eur', 'pm_card_visa', 'succeeded');
    INSERT INTO refund (id, charge, payment_intent, amount, currency, status, metadata)
    VALUES ('re_1', 'ch_1', 'pi_1', 100, 'eur', 'succeeded', '{}');"#;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../migrations/provider");

const DAMAGES: &[Damage] = &[
    ("a_payment_is_charged_once", "UPDATE charge SET status = 'succeeded' WHERE id = 'ch_0'"),
    (
        "a_payment_is_charged_once",
        "INSERT INTO charge (id, payment_intent, amount, currency, payment_method, status)
         VALUES ('ch_2', 'pi_1', 450, 'eur', 'pm_card_visa', 'succeeded')",
    ),
    ("refunds_stay_within_the_charge", "UPDATE charge SET amount_refunded = 0"),
    ("refunds_stay_within_the_charge", "UPDATE refund SET amount = 101"),
    (
        "refunds_stay_within_the_charge",
        "ALTER TABLE charge DROP CONSTRAINT refunds_within_charge;
         UPDATE charge SET amount_refunded = 451 WHERE id = 'ch_1';
         UPDATE refund SET amount = 451",
    ),
];

#[tokio::test]
async fn every_question_to_the_provider_sees_its_damage() {
    sees("provider", MIGRATIONS, &[SOUND], DAMAGES).await;
}
