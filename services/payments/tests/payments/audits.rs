//! The questions to the database of payments find their damage.

use std::collections::BTreeSet;

use database::Database;
use envelope::Topics;
use payments::Payments;
use runtime::{Context, Service as _};
use testkit::{Damage, SoundDatabase, TestDatabase, assert_needs_no_scan};

use crate::stage::Stage;

/// One payment that is kept, and one that was captured too late and refunded at the second try.
const SOUND: &str = "
    INSERT INTO payment (id, tenant_id, order_id, amount, currency, payment_method, state, cancel_requested,
                         processor_intent, refund_reserved, expires_at)
    VALUES (id(1), 't', id(11), 450, 'EUR', 'pm_card_visa', 'captured', false, 'pi_1', 0, clock_timestamp()),
           (id(2), 't', id(12), 450, 'EUR', 'pm_card_visa', 'captured', true, 'pi_2', 450, clock_timestamp());
    INSERT INTO refund (id, tenant_id, payment_id, cause, amount, state, failure_code, processor_refund, follows,
                        try_number, updated_at)
    VALUES (id(7), 't', id(2), 'order_cancelled', 450, 'failed', 'balance_insufficient', NULL, NULL, 1, '2026-11-21'),
           (id(3), 't', id(2), 'order_cancelled', 450, 'succeeded', NULL, 're_3', id(7), 2, clock_timestamp());
    INSERT INTO processor_call (id, tenant_id, kind, payment_id, provider_key, request)
    VALUES (id(1), 't', 'charge', id(1), 'one', ''), (id(2), 't', 'charge', id(2), 'two', ''),
           (id(3), 't', 'refund', id(2), 'three', ''), (id(7), 't', 'refund', id(2), 'seven', '');
    INSERT INTO audit_fact (id, tenant_id, actor, action, subject_type, subject_id, operation_id, details)
    VALUES (id(21), 't', '@system', 'payment.charge', 'payment', id(1)::text, id(1), '{}'),
           (id(22), 't', '@system', 'payment.charge', 'payment', id(2)::text, id(2), '{}'),
           (id(23), 't', '@system', 'payment.refund', 'refund', id(3)::text, id(3), '{}'),
           (id(27), 't', '@system', 'payment.refund', 'refund', id(7)::text, id(7), '{}');";

/// Commands of clients: a declined charge, a charge that the client may retry, and a refused refund. An operator has
/// resolved the refund's review, and with it the second review that this resolution opened.
const COMMANDS: &str = "
    INSERT INTO payment (id, tenant_id, operation_id, amount, currency, payment_method, state, decline_code, expires_at)
    VALUES (id(4), 't', id(41), 450, 'EUR', 'pm_card_visa', 'declined', 'no', clock_timestamp()),
           (id(5), 't', id(42), 450, 'EUR', 'pm_card_visa', 'requested', NULL,
            clock_timestamp() + interval '15 minutes');
    INSERT INTO refund (id, tenant_id, payment_id, cause, operation_id, amount, state, failure_code, updated_at)
    VALUES (id(6), 't', id(1), 'requested', id(43), 50, 'failed', 'no', '2026-11-21');
    INSERT INTO processor_call (id, tenant_id, kind, payment_id, provider_key, request)
    VALUES (id(4), 't', 'charge', id(4), 'four', ''), (id(5), 't', 'charge', id(5), 'five', ''),
           (id(6), 't', 'refund', id(1), 'six', '');
    INSERT INTO idempotency_operation (operation_id, tenant_id, client_id, state, status, headers, body, reply_kept,
                                       tombstone_kept)
    VALUES (id(41), 't', 'c', 'failed', 402, '[]', '', '1 day', '30 days'),
           (id(42), 't', 'c', 'running', 503, '[]', '', '1 day', '30 days'),
           (id(43), 't', 'c', 'failed', 422, '[]', '', '1 day', '30 days');
    INSERT INTO idempotency_record (tenant_id, client_id, method, route, key, fingerprint, fingerprint_version, state,
                                    operation_id)
    VALUES ('t', 'c', 'POST', '/v1/payments', 'k', sha256(''), 1, 'failed_retryable', id(42));
    INSERT INTO review (id, tenant_id, subject, subject_id, payment_id, reason, resolution, resolved_by, note, resolved_at)
    SELECT review, 't', 'refund', id(6), id(1), reason, 'captured', '@operator:dana', 'seen', clock_timestamp()
      FROM (VALUES (id(51), 'not_found'), (id(52), 'refund_failed')) AS opened (review, reason);
    INSERT INTO audit_fact (id, tenant_id, actor, action, subject_type, subject_id, operation_id, details)
    VALUES (id(34), 't', 'c', 'payment.charge', 'payment', id(4), id(41), '{}'),
           (id(35), 't', 'c', 'payment.charge', 'payment', id(5), id(42), '{}'),
           (id(36), 't', 'c', 'payment.refund', 'refund', id(6), id(43), '{}'),
           (id(37), 't', '@operator:dana', 'review.resolve', 'review', id(51), id(44),
            '{\"resolution\": \"captured\", \"reason\": \"seen\"}');";

const DAMAGES_OF_COMMANDS: &[Damage] = &[
    ("a_command_ends_as_its_money_did", "UPDATE idempotency_operation SET state = 'unknown' WHERE operation_id = id(41)"),
    ("a_command_ends_as_its_money_did", "UPDATE idempotency_operation SET state = 'succeeded' WHERE operation_id = id(42)"),
    ("a_command_ends_as_its_money_did", "DELETE FROM idempotency_operation WHERE operation_id = id(43)"),
    ("a_command_ends_as_its_money_did", "UPDATE payment SET state = 'cancelled' WHERE id = id(5)"),
    ("a_command_ends_as_its_money_did", "UPDATE payment SET state = 'unknown' WHERE id = id(5)"),
    (
        "a_command_ends_as_its_money_did",
        "UPDATE refund SET state = 'pending', failure_code = NULL WHERE id = id(6)",
    ),
    (
        "a_command_ends_as_its_money_did",
        "UPDATE payment SET expires_at = clock_timestamp() - interval '61 seconds' WHERE id = id(5)",
    ),
    ("a_resolved_review_has_its_fact", "DELETE FROM audit_fact WHERE id = id(37)"),
    ("a_resolved_review_has_its_fact", "UPDATE audit_fact SET actor = 'c' WHERE id = id(37)"),
    ("a_resolved_review_has_its_fact", "UPDATE review SET resolution = 'refunded' WHERE id = id(51)"),
    ("a_resolved_review_has_its_fact", "UPDATE review SET reason = 'other_amount' WHERE id = id(52)"),
    (
        "a_resolved_review_has_its_fact",
        "UPDATE review SET resolution = NULL, resolved_by = NULL, note = NULL, resolved_at = NULL WHERE id = id(51)",
    ),
    (
        "a_resolved_review_has_its_fact",
        "INSERT INTO audit_fact SELECT id(38), tenant_id, actor, action, subject_type, subject_id, id(45), details
           FROM audit_fact WHERE id = id(37)",
    ),
    ("a_resolved_review_has_its_fact", "UPDATE audit_fact SET subject_id = id(53) WHERE id = id(37)"),
];

/// The order of the first payment is confirmed: four postings.
const LEDGER: &str = "
    UPDATE payment SET confirmed = true WHERE id = id(1);
    WITH posted AS (INSERT INTO ledger_transaction (id, tenant_id, kind, cause, payment_id, refund_id, recorded_at)
    OVERRIDING SYSTEM VALUE
    VALUES (1, 't', 'capture', id(1), id(1), NULL, '2026-11-21T00:00:00Z'),
           (2, 't', 'confirmation', id(11), id(1), NULL, '2026-11-21T00:00:00Z'),
           (3, 't', 'capture', id(2), id(2), NULL, '2026-11-21T00:00:00Z'),
           (4, 't', 'refund', id(3), id(2), id(3), '2026-11-21T00:00:00Z'))
    INSERT INTO ledger_entry (transaction_id, line, tenant_id, account, currency, amount)
    VALUES (1, 1, 't', 'receivable', 'EUR', 450), (1, 2, 't', 'clearing', 'EUR', -450),
           (2, 1, 't', 'clearing', 'EUR', 450), (2, 2, 't', 'revenue', 'EUR', -450),
           (3, 1, 't', 'receivable', 'EUR', 450), (3, 2, 't', 'clearing', 'EUR', -450),
           (4, 1, 't', 'clearing', 'EUR', 450), (4, 2, 't', 'receivable', 'EUR', -450);
    SELECT ledger_settle();
    SELECT ledger_fold(3);";

const DAMAGES_OF_THE_LEDGER: &[Damage] = &[
    ("the_ledger_sums_to_zero", "UPDATE ledger_entry SET amount = 449 WHERE transaction_id = 1 AND line = 1"),
    (
        "the_ledger_sums_to_zero",
        "UPDATE ledger_entry SET currency = 'USD' WHERE transaction_id = 1 AND line = 1",
    ),
    ("the_ledger_sums_to_zero", "DELETE FROM ledger_entry WHERE transaction_id = 1"),
    (
        "balances_are_the_sums_of_the_ledger",
        "UPDATE ledger_balance SET debit = debit + 1 WHERE account = 'clearing'",
    ),
    ("balances_are_the_sums_of_the_ledger", "DELETE FROM ledger_balance WHERE account = 'revenue'"),
    ("balances_are_the_sums_of_the_ledger", "UPDATE ledger_mark SET folded_id = 4"),
    ("balances_are_the_sums_of_the_ledger", "INSERT INTO ledger_balance VALUES ('u', 'fees', 'EUR', 1, 0)"),
    ("the_ledger_says_what_happened", "UPDATE payment SET amount = 451 WHERE id = id(1)"),
    ("the_ledger_says_what_happened", "UPDATE payment SET confirmed = false"),
    (
        "the_ledger_says_what_happened",
        "UPDATE payment SET fee = 9, fee_currency = 'EUR', fee_transaction = 'txn'",
    ),
    ("the_ledger_says_what_happened", "UPDATE refund SET state = 'pending' WHERE id = id(3)"),
    ("the_ledger_says_what_happened", "UPDATE refund SET state = 'failed', failure_code = 'returned'"),
    ("the_ledger_says_what_happened", "DELETE FROM ledger_entry WHERE transaction_id = 1"),
    (
        "the_ledger_says_what_happened",
        "UPDATE ledger_entry SET account = 'revenue' WHERE transaction_id = 1 AND line = 2",
    ),
    (
        "the_ledger_says_what_happened",
        "DROP INDEX ledger_transaction_once;
         WITH posted AS (INSERT INTO ledger_transaction (id, tenant_id, kind, cause, payment_id) OVERRIDING SYSTEM VALUE
         VALUES (5, 't', 'capture', 'again', id(1)))
         INSERT INTO ledger_entry (transaction_id, line, tenant_id, account, currency, amount)
         VALUES (5, 1, 't', 'receivable', 'EUR', 450), (5, 2, 't', 'clearing', 'EUR', -450)",
    ),
    ("clearing_is_empty_for_a_settled_order", "DELETE FROM ledger_entry WHERE transaction_id = 2"),
    ("clearing_is_empty_for_a_settled_order", "DELETE FROM ledger_entry WHERE transaction_id = 4"),
    (
        "clearing_is_empty_for_a_settled_order",
        "DELETE FROM ledger_entry WHERE transaction_id = 2;
         UPDATE payment SET confirmed = false, expires_at = clock_timestamp() - interval '61 seconds'",
    ),
];

const DAMAGES: &[Damage] = &[
    ("refunds_stay_within_the_capture", "UPDATE payment SET refund_reserved = 449 WHERE id = id(2)"),
    ("refunds_stay_within_the_capture", "UPDATE refund SET amount = 451"),
    ("refunds_stay_within_the_capture", "UPDATE refund SET amount = 449 WHERE id = id(7)"),
    (
        "refunds_stay_within_the_capture",
        "ALTER TABLE payment DROP CONSTRAINT refunds_within_capture;
         UPDATE payment SET refund_reserved = 451 WHERE id = id(2);
         UPDATE refund SET amount = 451",
    ),
    ("a_cancelled_order_keeps_no_money", "UPDATE payment SET cancel_requested = true WHERE id = id(1)"),
    ("a_cancelled_order_keeps_no_money", "UPDATE refund SET state = 'failed', failure_code = 'no'"),
    ("a_cancelled_order_keeps_no_money", "UPDATE refund SET amount = 449 WHERE id = id(3)"),
    ("a_call_belongs_to_one_command", "DELETE FROM processor_call WHERE id = id(1)"),
    ("a_call_belongs_to_one_command", "DELETE FROM audit_fact WHERE id = id(23)"),
    (
        "a_call_belongs_to_one_command",
        "INSERT INTO audit_fact (id, tenant_id, actor, action, subject_type, subject_id, operation_id, details)
         VALUES (id(24), 't', '@system', 'payment.charge', 'payment', id(1)::text, id(4), '{}')",
    ),
    (
        "money_is_settled",
        "UPDATE payment SET state = 'unknown', confirmed = false, expires_at = clock_timestamp() - interval '61 seconds' WHERE id = id(1)",
    ),
    (
        "money_is_settled",
        "UPDATE refund SET state = 'failed', failure_code = 'no', updated_at = clock_timestamp() - interval '61 seconds'
          WHERE id = id(3)",
    ),
    (
        "money_is_settled",
        "UPDATE refund SET state = 'pending', updated_at = clock_timestamp() - interval '61 seconds' WHERE id = id(3)",
    ),
];

#[tokio::test]
async fn every_audit_of_payments_finds_its_damage() {
    let damages: Vec<Damage> = [DAMAGES, DAMAGES_OF_THE_LEDGER, DAMAGES_OF_COMMANDS].concat();
    let mut database = SoundDatabase::with(Payments::migrations(), &[SOUND, LEDGER, COMMANDS]).await;
    database.sees(services::named("payments").unwrap().audits, &damages).await;
}

#[tokio::test]
async fn the_explanation_of_an_order_reads_no_table_from_end_to_end() {
    let database = TestDatabase::with(vec![Payments::migrations()]).await;
    assert_needs_no_scan(&database, services::named("payments").unwrap().explain, "uuid").await;
}

/// The audits expect each message of these streams in its inbox.
#[tokio::test]
async fn the_description_names_the_streams_that_the_consumer_reads() {
    let stage = Stage::new().await;
    let (database, settings) = (Database::clone(&stage.database), stage.settings());
    let consumer = Payments::consumer(&Context { database, topics: Topics::of("test"), settings }).unwrap();
    let streams: BTreeSet<&str> = consumer.streams().iter().map(|stream| stream.name()).collect();
    assert_eq!(streams, services::named("payments").unwrap().reads.iter().copied().collect());
}
