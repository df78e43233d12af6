//! The questions to the database of inventory find their damage, and history that retention has trimmed is none.

use std::collections::BTreeSet;

use inventory::Inventory;
use runtime::Service as _;
use testkit::trimmed::{DAYS, FIRST_DAY, SECOND_DAY};
use testkit::{Damage, SoundDatabase, TestDatabase, assert_needs_no_scan};

use crate::stage::Stage;

/// One item: five delivered, two shipped for order 2, one held for order 3.
const SOUND: &str = "
    INSERT INTO item (id, tenant_id, sku, name, unit_price, currency, version, on_hand, reserved, position)
    VALUES (id(1), 't', 'tea', 'Tea', 450, 'EUR', 1, 3, 1, id(1));
    INSERT INTO reservation (order_id, tenant_id, state, sequence)
    VALUES (id(2), 't', 'shipped', 2), (id(3), 't', 'held', 1);
    INSERT INTO reservation_line (order_id, item_id, tenant_id, sku, quantity)
    VALUES (id(2), id(1), 't', 'tea', 2), (id(3), id(1), 't', 'tea', 1);
    INSERT INTO stock_movement (id, tenant_id, item_id, kind, delta, reason, order_id)
    VALUES (id(11), 't', id(1), 'adjustment', 5, 'delivery', NULL), (id(12), 't', id(1), 'shipment', -2, NULL, id(2));
    INSERT INTO audit_fact (id, tenant_id, actor, action, subject_type, subject_id, operation_id, details)
    VALUES (id(21), 't', 'c', 'item.put', 'item', id(1)::text, id(22), '{}');
    INSERT INTO outbox_event (event_id, topic, partition_key, aggregate_type, aggregate_id, sequence, type, source,
                              tenant_id, payload)
    VALUES (id(31), 'inventory.events', id(1), 'item', id(1), 1, 'inventory.ItemChanged.v1', 'inventory', 't', '{}');";

const DAMAGES: &[Damage] = &[
    ("stock_is_conserved", "UPDATE item SET on_hand = 4"),
    ("stock_is_conserved", "UPDATE item SET reserved = 0"),
    ("stock_is_conserved", "DELETE FROM stock_movement"),
    ("stock_is_conserved", "UPDATE reservation SET state = 'released', sequence = 2 WHERE order_id = id(3)"),
    ("a_reservation_ships_what_it_held", "UPDATE reservation SET state = 'released' WHERE order_id = id(2)"),
    ("a_reservation_ships_what_it_held", "DELETE FROM stock_movement WHERE kind = 'shipment'"),
    ("a_reservation_ships_what_it_held", "UPDATE stock_movement SET delta = -1 WHERE kind = 'shipment'"),
    ("a_reservation_ships_what_it_held", "DELETE FROM reservation_line WHERE order_id = id(2)"),
    (
        "a_reservation_ships_what_it_held",
        "INSERT INTO stock_movement (id, tenant_id, item_id, kind, delta, order_id)
         VALUES (id(13), 't', id(1), 'shipment', -1, id(3))",
    ),
    ("a_price_change_has_one_fact", "DELETE FROM audit_fact"),
    ("a_price_change_has_one_fact", "UPDATE item SET version = 2"),
    ("a_price_change_has_one_fact", "DELETE FROM outbox_event"),
    ("tenants_stay_apart", "UPDATE reservation_line SET tenant_id = 'u' WHERE order_id = id(2)"),
    ("tenants_stay_apart", "UPDATE reservation SET tenant_id = 'u' WHERE order_id = id(2)"),
    ("tenants_stay_apart", "UPDATE stock_movement SET tenant_id = 'u'"),
];

#[tokio::test]
async fn every_audit_of_inventory_finds_its_damage() {
    let questions = services::named("inventory").unwrap().audits;
    SoundDatabase::with(Inventory::migrations(), &[SOUND]).await.sees(questions, DAMAGES).await;
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
    let facts = include_str!("../../audits/a_price_change_has_one_fact.sql");
    let found =
        SoundDatabase::with(Inventory::migrations(), &[SOUND, TWICE, DAYS]).await.finds(facts, cases).await;
    assert_eq!(found, [false, false, false, true, true, true]);
}

#[tokio::test]
async fn the_explanation_of_an_order_reads_no_table_from_end_to_end() {
    let database = TestDatabase::with(vec![Inventory::migrations()]).await;
    assert_needs_no_scan(&database, services::named("inventory").unwrap().explain, "uuid").await;
}

/// The audits expect each message of these streams in its inbox.
#[tokio::test]
async fn the_description_names_the_streams_that_the_consumer_reads() {
    let consumer = Inventory::consumer(&Stage::new().await.context()).unwrap();
    let streams: BTreeSet<&str> = consumer.streams().iter().map(|stream| stream.name()).collect();
    assert_eq!(streams, services::named("inventory").unwrap().reads.iter().copied().collect());
}
