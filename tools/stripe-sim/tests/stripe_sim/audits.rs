//! The audits of these books are asked of sound rows, where they find nothing, and of the same rows with each kind of damage.

use diesel_migrations::{EmbeddedMigrations, embed_migrations};

use testkit::{Damage, SoundDatabase};

/// One partly refunded charge, an earlier declined charge of the same payment, a returned refund, and a pending one.
/// Each end has its event. Another program of the account has charged twice for its own reference.
const SOUND: &str = r#"
    INSERT INTO payment_intent (id, amount, amount_received, currency, status, latest_charge, metadata)
    VALUES ('pi_0', 450, 0, 'eur', 'requires_payment_method', 'ch_0', '{"reference": "payment", "deployment": "d"}'),
           ('pi_1', 450, 450, 'eur', 'succeeded', 'ch_1', '{"reference": "payment", "deployment": "d"}'),
           ('pi_8', 100, 100, 'eur', 'succeeded', 'ch_8', '{"reference": "theirs"}'),
           ('pi_9', 100, 100, 'eur', 'succeeded', 'ch_9', '{"reference": "theirs"}');
    INSERT INTO charge (id, payment_intent, amount, amount_captured, amount_refunded, currency, payment_method, status,
                        balance_transaction)
    VALUES ('ch_0', 'pi_0', 450, 0, 0, 'eur', 'pm_card_visa', 'failed', NULL),
           ('ch_1', 'pi_1', 450, 450, 150, 'eur', 'pm_card_visa', 'succeeded', 'txn_1'),
           ('ch_8', 'pi_8', 100, 100, 0, 'eur', 'pm_card_visa', 'succeeded', 'txn_8'),
           ('ch_9', 'pi_9', 100, 100, 0, 'eur', 'pm_card_visa', 'succeeded', 'txn_9');
    INSERT INTO refund (id, charge, payment_intent, amount, currency, status, failure_reason, balance_transaction,
                        failure_balance_transaction, metadata)
    VALUES ('re_1', 'ch_1', 'pi_1', 100, 'eur', 'succeeded', NULL, 'txn_2', NULL, '{}'),
           ('re_2', 'ch_1', 'pi_1', 50, 'eur', 'pending', NULL, NULL, NULL, '{}'),
           ('re_3', 'ch_1', 'pi_1', 30, 'eur', 'failed', 'declined', 'txn_3', 'txn_4', '{}');
    INSERT INTO balance_transaction (id, type, source, amount, fee, net, currency)
    VALUES ('txn_1', 'charge', 'ch_1', 450, 43, 407, 'eur'),
           ('txn_2', 'refund', 're_1', -100, 0, -100, 'eur'),
           ('txn_3', 'refund', 're_3', -30, 0, -30, 'eur'),
           ('txn_4', 'refund_failure', 're_3', 30, 0, 30, 'eur'),
           ('txn_8', 'charge', 'ch_8', 100, 3, 97, 'eur'),
           ('txn_9', 'charge', 'ch_9', 100, 3, 97, 'eur');
    INSERT INTO event (id, type, object)
    VALUES ('evt_1', 'payment_intent.payment_failed', '{"id": "pi_0"}'),
           ('evt_2', 'payment_intent.succeeded', '{"id": "pi_1"}'),
           ('evt_3', 'refund.created', '{"id": "re_1"}'),
           ('evt_4', 'refund.created', '{"id": "re_2"}'),
           ('evt_5', 'refund.created', '{"id": "re_3"}'),
           ('evt_6', 'refund.failed', '{"id": "re_3"}'),
           ('evt_8', 'payment_intent.succeeded', '{"id": "pi_8"}'),
           ('evt_9', 'payment_intent.succeeded', '{"id": "pi_9"}');"#;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations");

const DAMAGES: &[Damage] = &[
    (
        "a_payment_is_charged_once",
        "UPDATE charge SET status = 'succeeded', amount_captured = 450 WHERE id = 'ch_0'",
    ),
    (
        "a_payment_is_charged_once",
        "INSERT INTO charge (id, payment_intent, amount, amount_captured, currency, payment_method, status)
         VALUES ('ch_2', 'pi_1', 450, 450, 'eur', 'pm_card_visa', 'succeeded')",
    ),
    ("refunds_stay_within_the_charge", "UPDATE charge SET amount_refunded = 0"),
    ("refunds_stay_within_the_charge", "UPDATE refund SET amount = 101 WHERE id = 're_1'"),
    (
        "refunds_stay_within_the_charge",
        "ALTER TABLE charge DROP CONSTRAINT refunds_within_capture;
         UPDATE charge SET amount_refunded = 501 WHERE id = 'ch_1';
         UPDATE refund SET amount = 451 WHERE id = 're_1'",
    ),
    ("the_balance_holds_every_movement", "DELETE FROM balance_transaction WHERE id = 'txn_1'"),
    ("the_balance_holds_every_movement", "DELETE FROM balance_transaction WHERE id = 'txn_4'"),
    (
        "the_balance_holds_every_movement",
        "UPDATE balance_transaction SET amount = -99, net = -99 WHERE id = 'txn_2'",
    ),
    (
        "the_balance_holds_every_movement",
        "INSERT INTO balance_transaction (id, type, source, amount, fee, net, currency)
         VALUES ('txn_5', 'charge', 'ch_0', 450, 43, 407, 'eur')",
    ),
    ("every_change_has_its_event", "DELETE FROM event WHERE id = 'evt_2'"),
    ("every_change_has_its_event", "DELETE FROM event WHERE id = 'evt_6'"),
    (
        "every_change_has_its_event",
        "INSERT INTO event (id, type, object) VALUES ('evt_7', 'payment_intent.succeeded', '{\"id\": \"pi_1\"}')",
    ),
];

#[tokio::test]
async fn every_audit_of_the_provider_finds_its_damage() {
    let provider = services::BESIDE.iter().find(|program| program.program == "stripe-sim").unwrap();
    SoundDatabase::with(MIGRATIONS, &[SOUND]).await.sees(provider.audits, DAMAGES).await;
}
