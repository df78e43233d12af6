//! The questions that every service's database is asked; here that of orders.

use diesel_migrations::{EmbeddedMigrations, embed_migrations};

use super::orders::SOUND;
use super::{Damage, sees};

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../migrations/orders");

const DAMAGES: &[Damage] = &[
    ("an_answer_is_kept", "DELETE FROM idempotency_snapshot WHERE operation_id = id(21)"),
    ("an_intent_has_one_fact", "DELETE FROM audit_fact"),
    ("an_intent_has_one_fact", "UPDATE audit_fact SET operation_id = id(22)"),
    (
        "an_intent_has_one_fact",
        "INSERT INTO audit_fact (id, tenant_id, actor, action, subject_type, subject_id, operation_id, details)
         VALUES (id(32), 't', 'c', 'order.place', 'order', id(1)::text, id(23), '{}')",
    ),
    ("a_history_has_no_gap", "DELETE FROM outbox_event WHERE sequence = 1"),
    ("a_history_has_no_gap", "DELETE FROM outbox_event WHERE sequence = 2"),
    ("a_history_has_no_gap", "UPDATE outbox_event SET sequence = 2 WHERE sequence = 3"),
    ("an_event_is_told_once", "UPDATE outbox_event SET type = 'orders.OrderPlaced.v1' WHERE sequence = 2"),
    (
        "what_was_committed_is_published",
        "UPDATE outbox_event SET created_at = created_at - interval '61 seconds';
         UPDATE outbox_cursor SET snapshot_a = '1:1:'",
    ),
    (
        "what_was_committed_is_published",
        "UPDATE outbox_event SET created_at = created_at - interval '61 seconds';
         UPDATE outbox_cursor SET snapshot_b = snapshot_a, snapshot_a = '1:1:',
                last_id = (SELECT min(id) FROM outbox_event)",
    ),
    ("a_message_is_applied_once", "UPDATE inbox_sequence SET last_sequence = 3 WHERE source = 'inventory'"),
    ("a_message_is_applied_once", "UPDATE inbox_sequence SET last_sequence = 1 WHERE source = 'inventory'"),
    (
        "a_message_is_applied_once",
        "UPDATE inbox_message SET sequence = 4 WHERE sequence = 2;
         UPDATE inbox_sequence SET last_sequence = 4 WHERE source = 'inventory'",
    ),
    (
        "a_message_is_applied_once",
        "INSERT INTO inbox_message (consumer, message_id, source, aggregate_id, sequence)
         VALUES ('orders', id(44), 'inventory', id(1), 2)",
    ),
    (
        "nothing_waits_in_the_inbox",
        "INSERT INTO inbox_parked (consumer, message_id, source, aggregate_id, sequence, state, topic, partition,
                                   record_offset, headers, payload)
         VALUES ('orders', id(45), 'inventory', id(1), 4, 'held', 'inventory.events', 0, 7, '[]', '')",
    ),
];

#[tokio::test]
async fn every_question_about_reliability_sees_its_damage() {
    sees("reliability", MIGRATIONS, &SOUND, DAMAGES).await;
}
