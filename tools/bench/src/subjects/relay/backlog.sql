-- An outbox full of orders that were placed while no relay ran: a transaction for each row, as in life, because what
-- the relay reads it finds by transaction.
DO $$
DECLARE
    placed uuid;
BEGIN
    FOR i IN 1 .. current_setting('bench.rows')::integer LOOP
        placed := gen_random_uuid();
        INSERT INTO outbox_event (event_id, topic, partition_key, aggregate_type, aggregate_id, sequence, type, source,
                                  tenant_id, payload, traceparent)
        VALUES (gen_random_uuid(), 'orders.events', placed, 'order', placed, 1, 'orders.OrderPlaced.v1', 'orders', 'bench',
                convert_to(format('{"order":"%s","lines":[{"sku":"TEA","quantity":2}],"total":{"amount":900,"currency":"EUR"}}',
                                  placed), 'UTF8'),
                format('00-%s-%s-01', replace(gen_random_uuid()::text, '-', ''), left(md5(placed::text), 16)));
        COMMIT;
    END LOOP;
END $$
