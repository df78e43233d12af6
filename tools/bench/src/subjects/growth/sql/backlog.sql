-- Unpublished events of orders, 1,000 in a transaction.
DO $$
DECLARE
    made bigint := current_setting('bench.from')::bigint;
BEGIN
    WHILE made < current_setting('bench.to')::bigint LOOP
        INSERT INTO outbox_event (event_id, topic, partition_key, aggregate_type, aggregate_id, sequence, type, source,
                                  tenant_id, payload)
        SELECT gen_random_uuid(), 'orders.events', placed, 'order', placed, 1, 'orders.OrderConfirmed.v1', 'orders',
               'bench', convert_to(format('{"order":"%s","payment":"%s"}', placed, placed), 'UTF8')
          FROM (SELECT gen_random_uuid() AS placed
                  FROM generate_series(1, least(1000, current_setting('bench.to')::bigint - made))) AS orders;
        made := made + 1000;
        COMMIT;
    END LOOP;
END $$
