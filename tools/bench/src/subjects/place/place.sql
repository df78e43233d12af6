-- The writes of POST /v1/orders as one statement: the base that its cost is compared with. Before anything is
-- measured, the rows of both are compared, table by table.
WITH placed AS (
    INSERT INTO orders (id, tenant_id, client_id, state, lines, amount, currency, payment_method, sequence, expires_at)
    VALUES ($1::uuid, $6, $7, 'pending', $8::jsonb, 900, 'EUR', 'pm_card_visa', 1, clock_timestamp() + interval '15 minutes')
), announced AS (
    INSERT INTO outbox_event (event_id, topic, partition_key, aggregate_type, aggregate_id, sequence, type, source,
                              tenant_id, payload, traceparent)
    VALUES ($4::uuid, 'orders.events', $1::uuid, 'order', $1::uuid, 1, 'orders.OrderPlaced.v1', 'orders',
            $6, $9::bytea, $13)
), noted AS (
    INSERT INTO audit_fact (id, tenant_id, actor, action, subject_type, subject_id, operation_id, details)
    VALUES ($5::uuid, $6, $7, 'order.place', 'order', $1::uuid::text, $3::uuid, '{}')
), dated AS (
    INSERT INTO order_timeline (order_id, tenant_id, what, state, cause_kind, cause_id, cause_by)
    VALUES ($1::uuid, $6, 'OrderPlaced', 'pending', 'request', $3::uuid, $7)
), answered AS (
    INSERT INTO idempotency_snapshot (operation_id, headers, body)
    VALUES ($3::uuid, $10::jsonb, $11::bytea)
)
INSERT INTO idempotency_record (tenant_id, client_id, method, route, key, fingerprint, fingerprint_version, state,
                                operation_id, status, completed_at, expires_at, tombstone_until)
VALUES ($6, $7, 'POST', '/v1/orders', $2, $12::bytea, 1, 'completed', $3::uuid, 201, clock_timestamp(),
        clock_timestamp() + interval '24 hours', clock_timestamp() + interval '30 days')
