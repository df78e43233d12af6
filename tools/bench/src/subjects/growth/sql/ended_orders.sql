-- Confirmed orders of the last hours: each with its request, events, timeline, and the two messages that it consumed, its audit
-- fact, and nine facts of orders that are not there any more.
CREATE TEMPORARY TABLE made AS
SELECT n, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid AS id,
       ('00000000-0000-7000-9000-' || lpad(to_hex(n), 12, '0'))::uuid AS operation,
       ('00000000-0000-7000-a000-' || lpad(to_hex(n), 12, '0'))::uuid AS payment,
       ('00000000-0000-7000-b000-' || lpad(to_hex(n), 12, '0'))::uuid AS reserved,
       ('00000000-0000-7000-b001-' || lpad(to_hex(n), 12, '0'))::uuid AS captured,
       now() - interval '9 hours' + n * (interval '8 hours' / current_setting('bench.to')::bigint) AS at
  FROM generate_series(current_setting('bench.from')::bigint + 1, current_setting('bench.to')::bigint) AS n;
INSERT INTO orders (id, tenant_id, client_id, state, lines, amount, currency, payment_method, payment_id, sequence, placed_at,
                    updated_at, expires_at)
SELECT id, 'bench', 'bench', 'confirmed', '[{"sku": "TEA", "quantity": 2, "unit_price": {"amount": 450, "currency": "EUR"}}]',
       900, 'EUR', 'pm_card_visa', payment, 3, at, at, at + interval '15 minutes'
  FROM made;
INSERT INTO order_timeline (order_id, tenant_id, what, state, cause_kind, cause_id, cause_by, at)
SELECT id, 'bench', entry.what, entry.state, entry.kind,
       CASE entry.step WHEN 1 THEN operation WHEN 2 THEN reserved ELSE captured END, entry.by, at
  FROM made, (VALUES (1, 'OrderPlaced', 'pending', 'request', 'bench'),
                     (2, 'PaymentRequested', 'awaiting_payment', 'message', 'inventory'),
                     (3, 'OrderConfirmed', 'confirmed', 'message', 'payments')) AS entry (step, what, state, kind, by)
 ORDER BY n, entry.step;
INSERT INTO outbox_event (event_id, topic, partition_key, aggregate_type, aggregate_id, sequence, type, source, tenant_id, payload)
SELECT gen_random_uuid(), 'orders.events', id, 'order', id, event.sequence, event.type, 'orders', 'bench',
       convert_to(format('{"order":"%s","payment":"%s"}', id, payment), 'UTF8')
  FROM made, (VALUES (1, 'orders.OrderPlaced.v1'), (2, 'orders.PaymentRequested.v1'),
                     (3, 'orders.OrderConfirmed.v1')) AS event (sequence, type)
 ORDER BY n, event.sequence;
INSERT INTO inbox_message (consumer, message_id, source, aggregate_id, sequence, processed_at)
SELECT 'orders', reserved, 'inventory', id, 1, at FROM made
 UNION ALL
SELECT 'orders', captured, 'payments', payment, 1, at FROM made;
INSERT INTO inbox_sequence (consumer, source, aggregate_id, last_sequence)
SELECT 'orders', 'inventory', id, 1 FROM made
 UNION ALL
SELECT 'orders', 'payments', payment, 1 FROM made;
INSERT INTO idempotency_record (tenant_id, client_id, method, route, key, fingerprint, fingerprint_version, state, operation_id,
                                status, completed_at, expires_at, tombstone_until)
SELECT 'bench', 'bench', 'POST', '/v1/orders', operation::text, sha256(uuid_send(operation)), 1, 'completed', operation, 201, at,
       at + interval '24 hours', at + interval '30 days'
  FROM made;
INSERT INTO idempotency_snapshot (operation_id, headers, body)
SELECT operation, '[["Content-Type", "application/json"]]', convert_to(repeat('x', 400), 'UTF8') FROM made;
INSERT INTO audit_fact (id, tenant_id, actor, action, subject_type, subject_id, operation_id, details, recorded_at)
SELECT operation, 'bench', 'bench', 'order.place', 'order', id::text, operation, '{"amount": 900, "currency": "EUR"}', at FROM made;
INSERT INTO audit_fact (id, tenant_id, actor, action, subject_type, subject_id, operation_id, details, recorded_at)
SELECT fact, 'bench', '@system', 'order.expire', 'order', fact::text, fact, '{}', at - interval '60 days'
  FROM made, generate_series(1, 9) AS k,
       LATERAL (SELECT ('00000000-0000-7000-8001-' || lpad(to_hex(n * 10 + k), 12, '0'))::uuid) AS earlier (fact);
DROP TABLE made
