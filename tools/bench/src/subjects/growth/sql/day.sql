-- The rows of the day that ends now: requests with their responses, operations, events that wait for the relay, and messages.
--
-- Their ids are ordered by time, as those of Idem are. They begin 91 days earlier, because the clock of the programs stays where it
-- is, and the ids of the measured messages must follow.
CREATE OR REPLACE FUNCTION pg_temp.new_id(at timestamptz) RETURNS uuid LANGUAGE sql AS $$
    SELECT encode(substring(int8send((extract(epoch FROM at - interval '91 days') * 1000)::bigint) FROM 3)
                  || substring(uuid_send(gen_random_uuid()) FROM 7), 'hex')::uuid
$$;
CREATE TEMPORARY TABLE made AS
SELECT pg_temp.new_id(at) AS operation, pg_temp.new_id(at) AS message, pg_temp.new_id(at) AS aggregate, at
  FROM (SELECT clock_timestamp() - random() * interval '23 hours' AS at
          FROM generate_series(current_setting('bench.from')::bigint + 1, current_setting('bench.to')::bigint)
         ORDER BY at) AS day;
INSERT INTO idempotency_record (tenant_id, client_id, method, route, key, fingerprint, fingerprint_version, state, operation_id,
                                status, created_at, completed_at, expires_at, tombstone_until)
SELECT 'bench', 'bench', 'POST', '/v1/orders', gen_random_uuid()::text, sha256(uuid_send(operation)), 1, 'completed', operation, 201,
       at, at, at + interval '24 hours', at + interval '30 days'
  FROM made;
INSERT INTO idempotency_snapshot (operation_id, headers, body)
SELECT operation, '[["Content-Type", "application/json"]]', convert_to(repeat('x', 400), 'UTF8') FROM made;
INSERT INTO idempotency_operation (operation_id, tenant_id, client_id, state, status, headers, body, reply_kept, tombstone_kept,
                                   started_at, created_at, updated_at, erase_at)
SELECT operation, 'bench', 'bench', 'succeeded', 201, '[]', convert_to(repeat('x', 400), 'UTF8'), interval '24 hours',
       interval '30 days', at, at, at, at + interval '30 days'
  FROM made;
INSERT INTO outbox_event (event_id, topic, partition_key, aggregate_type, aggregate_id, sequence, type, source, tenant_id, payload,
                          created_at)
SELECT message, 'orders.events', aggregate, 'order', aggregate, 1, 'orders.OrderConfirmed.v1', 'orders', 'bench',
       convert_to(format('{"order":"%s","payment":"%s"}', aggregate, aggregate), 'UTF8'), at
  FROM made;
INSERT INTO inbox_message (consumer, message_id, source, aggregate_id, sequence, processed_at)
SELECT 'bench', message, 'orders', aggregate, 1, at FROM made;
INSERT INTO inbox_sequence (consumer, source, aggregate_id, last_sequence) SELECT 'bench', 'orders', aggregate, 1 FROM made;
DROP TABLE made
