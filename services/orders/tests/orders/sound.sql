-- One confirmed order, and one request that was rejected.
INSERT INTO orders (id, tenant_id, client_id, state, lines, amount, currency, payment_method, payment_id, sequence,
                    expires_at)
VALUES (id(1), 't', 'c', 'confirmed', '[]', 450, 'EUR', 'pm_card_visa', id(2), 3,
        clock_timestamp() + interval '15 minutes');
INSERT INTO outbox_event (event_id, topic, partition_key, aggregate_type, aggregate_id, sequence, type, source,
                          tenant_id, payload)
VALUES (id(11), 'orders.events', id(1), 'order', id(1), 1, 'orders.OrderPlaced.v1', 'orders', 't', '{}'),
       (id(12), 'orders.events', id(1), 'order', id(1), 2, 'orders.PaymentRequested.v1', 'orders', 't', '{}'),
       (id(13), 'orders.events', id(1), 'order', id(1), 3, 'orders.OrderConfirmed.v1', 'orders', 't', '{}');
INSERT INTO idempotency_record (tenant_id, client_id, method, route, key, fingerprint, fingerprint_version, state,
                                operation_id, status, completed_at, expires_at, tombstone_until)
SELECT 't', 'c', 'POST', '/v1/orders', key, sha256(''), 1, 'completed', operation, status, clock_timestamp(),
       clock_timestamp() + interval '1 day', clock_timestamp() + interval '30 days'
  FROM (VALUES ('accepted', id(21), 201), ('rejected', id(22), 422)) AS given (key, operation, status);
INSERT INTO idempotency_snapshot (operation_id, headers, body) VALUES (id(21), '[]', ''), (id(22), '[]', '');
INSERT INTO audit_fact (id, tenant_id, actor, action, subject_type, subject_id, operation_id, details)
VALUES (id(31), 't', 'c', 'order.place', 'order', id(1)::text, id(21), '{}');
INSERT INTO order_timeline (order_id, tenant_id, what, state, cause_kind, cause_id, cause_by)
VALUES (id(1), 't', 'OrderPlaced', 'pending', 'request', id(21), 'c'),
       (id(1), 't', 'StockReserved', 'awaiting_payment', 'message', id(41), 'inventory'),
       (id(1), 't', 'PaymentRequested', 'awaiting_payment', 'message', id(41), 'inventory'),
       (id(1), 't', 'PaymentCaptured', 'confirmed', 'message', id(43), 'payments'),
       (id(1), 't', 'OrderConfirmed', 'confirmed', 'message', id(43), 'payments'),
       (id(1), 't', 'StockShipped', 'confirmed', 'message', id(42), 'inventory');
INSERT INTO inbox_message (consumer, message_id, source, aggregate_id, sequence)
VALUES ('orders', id(41), 'inventory', id(1), 1), ('orders', id(42), 'inventory', id(1), 2),
       ('orders', id(43), 'payments', id(2), 1);
INSERT INTO inbox_sequence (consumer, source, aggregate_id, last_sequence)
VALUES ('orders', 'inventory', id(1), 2), ('orders', 'payments', id(2), 1);
