//! The questions to the database of orders find their damage, and history that retention has trimmed is none.

use std::collections::BTreeSet;

use database::Database;
use orders::Orders;
use runtime::Service as _;
use testkit::trimmed::{DAYS, FIRST_DAY, SECOND_DAY, THIRD_DAY};
use testkit::{Damage, SoundDatabase, TestDatabase, assert_needs_no_scan};

use crate::bench::context;

const SOUND: &str = include_str!("sound.sql");

const DAMAGES: &[Damage] = &[
    ("an_order_was_placed_once", "DELETE FROM audit_fact"),
    (
        "an_order_was_placed_once",
        "INSERT INTO audit_fact (id, tenant_id, actor, action, subject_type, subject_id, operation_id, details)
         VALUES (id(32), 't', 'c', 'order.place', 'order', id(1)::text, id(23), '{}')",
    ),
    ("an_order_was_placed_once", "DELETE FROM order_timeline; DELETE FROM orders"),
    (
        "an_order_ends_in_time",
        "UPDATE orders SET state = 'pending', expires_at = clock_timestamp() - interval '61 seconds'",
    ),
    (
        "an_order_ends_in_time",
        "UPDATE orders SET state = 'awaiting_payment', expires_at = clock_timestamp() - interval '61 seconds'",
    ),
    ("an_order_announces_its_states", "UPDATE orders SET state = 'awaiting_payment'"),
    ("an_order_announces_its_states", "UPDATE orders SET state = 'cancelled', cancel_reason = 'expired'"),
    ("an_order_announces_its_states", "UPDATE orders SET state = 'pending', payment_id = NULL"),
    ("an_order_announces_its_states", "UPDATE orders SET sequence = 4"),
    ("an_order_announces_its_states", "DELETE FROM outbox_event"),
    ("an_order_has_its_timeline", "DELETE FROM order_timeline"),
    ("an_order_has_its_timeline", "DELETE FROM order_timeline WHERE what = 'OrderPlaced'"),
    ("an_order_has_its_timeline", "DELETE FROM order_timeline WHERE what = 'PaymentRequested'"),
    ("an_order_has_its_timeline", "UPDATE orders SET state = 'awaiting_payment'"),
    // Consumed events without a timeline entry: one that came too late, and one that changed the order.
    ("an_order_has_its_timeline", "DELETE FROM order_timeline WHERE what = 'StockShipped'"),
    ("an_order_has_its_timeline", "DELETE FROM order_timeline WHERE cause_id = id(43) AND what = 'PaymentCaptured';
      UPDATE order_timeline SET cause_id = id(44) WHERE cause_id = id(43)"),
];

#[tokio::test]
async fn every_audit_of_orders_finds_its_damage() {
    let questions = services::named("orders").unwrap().audits;
    SoundDatabase::with(Orders::migrations(), &[SOUND]).await.sees(questions, DAMAGES).await;
}

const PLACED: &str = "
    UPDATE orders SET placed_at = '2026-01-01T12:00:00Z', updated_at = '2026-01-03T12:00:00Z';";

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
    let states = include_str!("../../audits/an_order_announces_its_states.sql");
    let found =
        SoundDatabase::with(Orders::migrations(), &[SOUND, PLACED, DAYS]).await.finds(states, cases).await;
    assert_eq!(found, [false, false, true, true, true, true]);
}

#[tokio::test]
async fn the_explanation_of_an_order_reads_no_table_from_end_to_end() {
    let database = TestDatabase::with(vec![Orders::migrations()]).await;
    assert_needs_no_scan(&database, services::named("orders").unwrap().explain, "uuid").await;
}

/// The audits expect each message of these streams in its inbox.
#[tokio::test]
async fn the_description_names_the_streams_that_the_consumer_reads() {
    let database = TestDatabase::plain().await;
    let consumer = Orders::consumer(&context(Database::clone(&database))).unwrap();
    let streams: BTreeSet<&str> = consumer.streams().iter().map(|stream| stream.name()).collect();
    assert_eq!(streams, services::named("orders").unwrap().reads.iter().copied().collect());
}
