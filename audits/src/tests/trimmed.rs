//! History that retention has trimmed is no violation, and damage of the rest is one.

use diesel_async::SimpleAsyncConnection;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use testkit::TestDatabase;

use super::{ID, all, inventory, orders, violations};

const ORDERS: EmbeddedMigrations = embed_migrations!("../migrations/orders");
const INVENTORY: EmbeddedMigrations = embed_migrations!("../migrations/inventory");

/// The events of an aggregate are of three days: 1, 2 and 3. So are the rows that they report.
const DAYS: &str = "
    UPDATE outbox_event SET created_at = '2026-01-01T12:00:00Z'::timestamptz + (sequence - 1) * interval '1 day';";

const FIRST_DAY: &str = "
    DELETE FROM outbox_event WHERE sequence = 1; INSERT INTO outbox_dropped_day (day, rows) VALUES ('2026-01-01', 1);";
const SECOND_DAY: &str = "
    DELETE FROM outbox_event WHERE sequence = 2; INSERT INTO outbox_dropped_day (day, rows) VALUES ('2026-01-02', 1);";
const THIRD_DAY: &str = "
    DELETE FROM outbox_event WHERE sequence = 3; INSERT INTO outbox_dropped_day (day, rows) VALUES ('2026-01-03', 1);";

/// Asks one question after each damage, in a transaction of its own. Returns whether it found a violation.
async fn finds<const N: usize>(
    migrations: EmbeddedMigrations,
    sound: &[&str],
    file: &str,
    cases: [&[&str]; N],
) -> [bool; N] {
    let database = TestDatabase::with(vec![migrations]).await;
    let mut owner = database.owner().await;
    for part in std::iter::once(&ID).chain(sound).chain(&[DAYS]) {
        owner.batch_execute(part).await.unwrap();
    }
    let question = all().find(|question| question.file == file).unwrap();
    let mut found = [false; N];
    for (case, found) in cases.into_iter().zip(&mut found) {
        owner.batch_execute("BEGIN").await.unwrap();
        for damage in case {
            owner.batch_execute(damage).await.unwrap();
        }
        *found = !violations(&mut owner, question).await.is_empty();
        owner.batch_execute("ROLLBACK").await.unwrap();
    }
    found
}

const PLACED: &str = "
    UPDATE orders SET placed_at = '2026-01-01T12:00:00Z', updated_at = '2026-01-03T12:00:00Z';";

#[tokio::test]
async fn a_dropped_day_is_no_gap_and_a_missing_event_of_a_kept_day_is_one() {
    let cases: [&[&str]; 8] = [
        &[],
        &[FIRST_DAY],
        // A blocked row kept the first day.
        &[SECOND_DAY],
        &[FIRST_DAY, SECOND_DAY, THIRD_DAY],
        &[FIRST_DAY, "DELETE FROM outbox_event WHERE sequence = 2", "UPDATE outbox_event SET sequence = 2"],
        // Missing, and its day was not dropped.
        &[FIRST_DAY, "DELETE FROM outbox_dropped_day"],
        &[
            "DELETE FROM outbox_event WHERE sequence = 2",
            "INSERT INTO outbox_dropped_day (day, rows) VALUES ('2026-01-04', 1)",
        ],
        &[FIRST_DAY, "UPDATE outbox_event SET sequence = 2"],
    ];
    let found =
        finds(ORDERS, &[orders::SOUND[0]], "audits/reliability/a_history_has_no_gap.sql", cases).await;
    assert_eq!(found, [false, false, false, false, false, true, true, true]);
}

#[tokio::test]
async fn an_order_with_dropped_events_is_judged_by_the_rest() {
    let cases: [&[&str]; 6] = [
        &[FIRST_DAY],
        &[FIRST_DAY, SECOND_DAY, THIRD_DAY],
        &[FIRST_DAY, "UPDATE orders SET state = 'cancelled', cancel_reason = 'expired'"],
        &[FIRST_DAY, "UPDATE orders SET sequence = 1"],
        // The dropped day is before the order.
        &[FIRST_DAY, "UPDATE outbox_dropped_day SET day = '2025-12-31'"],
        &["DELETE FROM outbox_event"],
    ];
    let sound = [orders::SOUND[0], PLACED];
    let found =
        finds(ORDERS, &sound, "services/orders/audits/an_order_announces_its_states.sql", cases).await;
    assert_eq!(found, [false, false, true, true, true, true]);
}

#[tokio::test]
async fn a_price_change_whose_event_was_dropped_is_no_violation() {
    const TWICE: &str = "
        UPDATE item SET version = 2, created_at = '2026-01-01T12:00:00Z';
        INSERT INTO outbox_event (event_id, topic, partition_key, aggregate_type, aggregate_id, sequence, type, source,
                                  tenant_id, payload)
        VALUES (id(32), 'inventory.events', id(1), 'item', id(1), 2, 'inventory.ItemChanged.v1', 'inventory', 't', '{}');
        INSERT INTO audit_fact (id, tenant_id, actor, action, subject_type, subject_id, operation_id, details)
        VALUES (id(23), 't', 'c', 'item.put', 'item', id(1)::text, id(24), '{}');";
    let cases: [&[&str]; 6] = [
        &[],
        &[FIRST_DAY],
        &[FIRST_DAY, SECOND_DAY],
        &[FIRST_DAY, "DELETE FROM outbox_dropped_day"],
        &[FIRST_DAY, "UPDATE item SET version = 3"],
        // A change without an event, after the last dropped day.
        &[
            FIRST_DAY,
            "UPDATE item SET version = 3;
             INSERT INTO audit_fact (id, tenant_id, actor, action, subject_type, subject_id, operation_id, details)
             VALUES (id(25), 't', 'c', 'item.put', 'item', id(1)::text, id(26), '{}')",
        ],
    ];
    let sound = [inventory::SOUND, TWICE];
    let found =
        finds(INVENTORY, &sound, "services/inventory/audits/a_price_change_has_one_fact.sql", cases).await;
    assert_eq!(found, [false, false, false, true, true, true]);
}
