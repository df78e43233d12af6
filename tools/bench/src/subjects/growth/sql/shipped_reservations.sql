-- A thousand items, and shipped reservations of one line: each with its movement, events and the three messages about its order,
-- and ten facts of stock adjustments whose records are erased.
CREATE TEMPORARY TABLE made AS
SELECT n, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid AS id,
       ('00000000-0000-7000-9000-' || lpad(to_hex(n % 1000), 12, '0'))::uuid AS item, 'TEA-' || n % 1000 AS sku
  FROM generate_series(current_setting('bench.from')::bigint + 1, current_setting('bench.to')::bigint) AS n;
CREATE TEMPORARY TABLE made_item AS SELECT item, sku, count(*) AS shipped FROM made GROUP BY item, sku;
INSERT INTO item (id, tenant_id, sku, name, unit_price, currency, version, on_hand, reserved, position)
SELECT item, 'bench', sku, 'Tea', 450, 'EUR', 1, 1000000 - shipped, 0, item FROM made_item;
INSERT INTO stock_movement (id, tenant_id, item_id, kind, delta, reason)
SELECT gen_random_uuid(), 'bench', item, 'adjustment', 1000000, 'delivery' FROM made_item;
INSERT INTO outbox_event (event_id, topic, partition_key, aggregate_type, aggregate_id, sequence, type, source, tenant_id, payload)
SELECT gen_random_uuid(), 'inventory.events', item, 'item', item, 1, 'inventory.ItemChanged.v1', 'inventory', 'bench', ''
  FROM made_item;
INSERT INTO audit_fact (id, tenant_id, actor, action, subject_type, subject_id, operation_id, details)
SELECT item, 'bench', 'bench', 'item.put', 'item', item::text, item, '{}' FROM made_item;
INSERT INTO reservation (order_id, tenant_id, state, sequence) SELECT id, 'bench', 'shipped', 2 FROM made;
INSERT INTO reservation_line (order_id, item_id, tenant_id, sku, quantity) SELECT id, item, 'bench', sku, 1 FROM made;
INSERT INTO stock_movement (id, tenant_id, item_id, kind, delta, order_id)
SELECT ('00000000-0000-7000-a000-' || lpad(to_hex(n), 12, '0'))::uuid, 'bench', item, 'shipment', -1, id FROM made;
INSERT INTO outbox_event (event_id, topic, partition_key, aggregate_type, aggregate_id, sequence, type, source, tenant_id, payload)
SELECT gen_random_uuid(), 'inventory.events', id, 'reservation', id, event.sequence, event.type, 'inventory', 'bench',
       convert_to(format('{"order":"%s"}', id), 'UTF8')
  FROM made, (VALUES (1, 'inventory.StockReserved.v1'), (2, 'inventory.StockShipped.v1')) AS event (sequence, type)
 ORDER BY n, event.sequence;
INSERT INTO inbox_message (consumer, message_id, source, aggregate_id, sequence)
SELECT 'inventory', ('00000000-0000-7000-b00' || k || '-' || lpad(to_hex(n), 12, '0'))::uuid, 'orders', id, k
  FROM made, generate_series(1, 3) AS k;
INSERT INTO inbox_sequence (consumer, source, aggregate_id, last_sequence) SELECT 'inventory', 'orders', id, 3 FROM made;
INSERT INTO audit_fact (id, tenant_id, actor, action, subject_type, subject_id, operation_id, details, recorded_at)
SELECT fact, 'bench', 'bench', 'stock.adjust', 'item', item::text, fact, '{"delta": 1}', now() - interval '60 days'
  FROM made, generate_series(0, 9) AS k,
       LATERAL (SELECT ('00000000-0000-7000-8001-' || lpad(to_hex(n * 10 + k), 12, '0'))::uuid) AS adjusted (fact);
DROP TABLE made, made_item
