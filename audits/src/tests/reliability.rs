//! The questions that every service's database is asked; here that of orders.

use diesel_migrations::{EmbeddedMigrations, embed_migrations};

use super::{Damage, sees};

pub(super) const MIGRATIONS: EmbeddedMigrations = embed_migrations!("../migrations/orders");

/// A confirmed order, and a request that was rejected.
pub(super) const BASE: &str = include_str!("../../../services/orders/tests/orders/sound.sql");

/// Three events of an item, which may change as often.
pub(super) const HISTORY: &str = "
    INSERT INTO outbox_event (event_id, topic, partition_key, aggregate_type, aggregate_id, sequence, type, source, tenant_id, payload)
    SELECT id(100 + n), 'orders.events', id(100), 'item', id(100), n, 'inventory.ItemChanged.v1', 'orders', 't', '{}'
      FROM generate_series(1, 3) AS n;";

/// A statement of its own, which sees the rows of the others.
const PUBLISHED: &str = "UPDATE outbox_cursor SET position = (SELECT max(id) FROM outbox_event);";

/// A command whose record has moved to the tombstones, and one whose tombstone has been dropped.
const ERASED: &str = "
    SELECT idempotency_make_tombstone_partitions(clock_timestamp() + interval '29 days');
    INSERT INTO idempotency_tombstone (key_digest, operation_id, created_at, completed_at, expires_at, tombstone_until,
                                       status, method, route)
    SELECT idempotency_key_digest('t', 'c', 'erased'), id(91), clock_timestamp() - interval '1 day',
           clock_timestamp() - interval '1 day', clock_timestamp(), clock_timestamp() + interval '29 days', 201, 'POST',
           '/v1/orders';
    INSERT INTO audit_fact (id, tenant_id, actor, action, subject_type, subject_id, operation_id, details, recorded_at)
    VALUES (id(92), 't', 'c', 'order.place', 'order', id(2)::text, id(91), '{}', clock_timestamp() - interval '1 day'),
           (id(93), 't', 'c', 'order.place', 'order', id(3)::text, id(94), '{}', clock_timestamp() - interval '31 days');";

/// A key that was fenced instead of its request, and one that was fenced after its command.
const FENCED: &str = "
    INSERT INTO idempotency_fence (key_digest)
    VALUES (idempotency_key_digest('t', 'c', 'given up')), (idempotency_key_digest('t', 'c', 'accepted'));";

/// A message that came too early a moment ago.
const HELD: &str = "
    INSERT INTO inbox_parked (consumer, message_id, source, aggregate_id, sequence, state, topic, partition,
                              record_offset, headers, payload)
    VALUES ('orders', id(46), 'inventory', id(2), 4, 'held', 'inventory.events', 0, 8, '[]', '');";

/// Three phased commands: one ended before its response, one ended after its response of 202, and the end of one is
/// unknown. The expiry of an order has a fact, and no record.
const PHASED: &str = "
    INSERT INTO idempotency_record (tenant_id, client_id, method, route, key, fingerprint, fingerprint_version, state,
                                    operation_id, status, completed_at, expires_at, tombstone_until)
    SELECT 't', 'c', 'POST', '/v1/beyond', operation::text, sha256(''), 1, state, operation, status, clock_timestamp(),
           clock_timestamp() + interval '1 day', clock_timestamp() + interval '30 days'
      FROM (VALUES (id(61), 'completed', 402), (id(62), 'completed', 202), (id(63), 'unknown', 202))
           AS given (operation, state, status);
    INSERT INTO idempotency_snapshot (operation_id, headers, body) SELECT id(n), '[]', '' FROM generate_series(61, 63) AS n;
    INSERT INTO idempotency_operation (operation_id, tenant_id, client_id, state, status, headers, body, reply_kept,
                                       tombstone_kept)
    VALUES (id(61), 't', 'c', 'failed', 402, '[]', '', '1 day', '30 days'),
           (id(62), 't', 'c', 'succeeded', 201, '[]', '', '1 day', '30 days'),
           (id(63), 't', 'c', 'unknown', NULL, NULL, NULL, '1 day', '30 days');
    INSERT INTO audit_fact (id, tenant_id, actor, action, subject_type, subject_id, operation_id, details)
    SELECT id(n + 10), 't', 'c', 'payment.charge', 'payment', n::text, id(n), '{}' FROM generate_series(61, 63) AS n;
    INSERT INTO audit_fact (id, tenant_id, actor, action, subject_type, subject_id, operation_id, details)
    VALUES (id(81), 't', '@system', 'order.expire', 'order', id(1)::text, id(82), '{}');";

const DAMAGES: &[Damage] = &[
    (
        "a_key_is_used_once",
        "UPDATE idempotency_tombstone SET key_digest = idempotency_key_digest('t', 'c', 'accepted')",
    ),
    (
        "no_command_follows_a_fence",
        "UPDATE idempotency_fence SET fenced_at = (SELECT min(created_at) FROM idempotency_record) - interval '1 ms'",
    ),
    (
        "no_command_follows_a_fence",
        "UPDATE idempotency_fence SET key_digest = (SELECT key_digest FROM idempotency_tombstone),
                                      fenced_at = clock_timestamp() - interval '2 days'
          WHERE key_digest = idempotency_key_digest('t', 'c', 'given up')",
    ),
    ("a_command_has_one_fact", "DELETE FROM idempotency_tombstone"),
    ("a_response_is_kept", "DELETE FROM idempotency_snapshot WHERE operation_id = id(21)"),
    ("a_response_is_kept", "DELETE FROM idempotency_snapshot WHERE operation_id = id(63)"),
    (
        "a_stored_response_agrees_with_its_operation",
        "UPDATE idempotency_operation SET state = 'running' WHERE operation_id = id(61)",
    ),
    (
        "a_stored_response_agrees_with_its_operation",
        "UPDATE idempotency_operation SET state = 'unknown' WHERE operation_id = id(62)",
    ),
    (
        "a_stored_response_agrees_with_its_operation",
        "UPDATE idempotency_record SET state = 'unknown' WHERE operation_id = id(62)",
    ),
    (
        "a_stored_response_agrees_with_its_operation",
        "UPDATE idempotency_record SET state = 'started' WHERE operation_id = id(61)",
    ),
    (
        "a_stored_response_agrees_with_its_operation",
        "UPDATE idempotency_record SET state = 'failed_retryable' WHERE operation_id = id(63)",
    ),
    ("a_stored_response_agrees_with_its_operation", "UPDATE idempotency_record SET status = 201 WHERE operation_id = id(61)"),
    ("a_command_has_one_fact", "DELETE FROM audit_fact"),
    ("a_command_has_one_fact", "UPDATE audit_fact SET operation_id = id(22) WHERE id = id(31)"),
    (
        "a_command_has_one_fact",
        "INSERT INTO audit_fact (id, tenant_id, actor, action, subject_type, subject_id, operation_id, details)
         VALUES (id(32), 't', 'c', 'order.place', 'order', id(1)::text, id(23), '{}')",
    ),
    (
        "a_command_has_one_fact",
        "INSERT INTO idempotency_operation (operation_id, tenant_id, client_id, reply_kept, tombstone_kept)
         VALUES (id(33), 't', 'c', '1 day', '30 days')",
    ),
    ("a_history_has_no_gap", "DELETE FROM outbox_event WHERE sequence = 1"),
    ("a_history_has_no_gap", "DELETE FROM outbox_event WHERE sequence = 2"),
    ("a_history_has_no_gap", "UPDATE outbox_event SET sequence = 2 WHERE sequence = 3"),
    ("an_event_is_announced_once", "UPDATE outbox_event SET type = 'orders.OrderPlaced.v1' WHERE sequence = 2"),
    (
        "what_was_committed_is_published",
        "UPDATE outbox_event SET created_at = created_at - interval '61 seconds';
         UPDATE outbox_cursor SET position = 0",
    ),
    (
        "what_was_committed_is_published",
        "UPDATE outbox_event SET created_at = created_at - interval '61 seconds';
         UPDATE outbox_cursor SET gaps = (SELECT int8multirange(int8range(max(id), NULL)) FROM outbox_event)",
    ),
    (
        "what_was_committed_is_published",
        "INSERT INTO outbox_blocked (id, aggregate_id, error) VALUES (1, id(1), 'Broker: Unknown topic or partition')",
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
         VALUES ('orders', id(45), 'inventory', id(1), 4, 'parked', 'inventory.events', 0, 7, '[]', '')",
    ),
    (
        "nothing_waits_in_the_inbox",
        "UPDATE inbox_parked SET parked_at = parked_at - interval '61 seconds'",
    ),
];

#[tokio::test]
async fn every_audit_of_the_reliability_tables_finds_its_damage() {
    sees(
        "audits/reliability",
        MIGRATIONS,
        &[BASE, HISTORY, PHASED, ERASED, FENCED, HELD, PUBLISHED],
        DAMAGES,
    )
    .await;
}
