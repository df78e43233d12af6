-- Messages that the consumer has applied, each of another order.
WITH message AS (
    INSERT INTO inbox_message (consumer, message_id, source, aggregate_id, sequence)
    SELECT 'bench', ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'orders',
           ('00000000-0000-7000-9000-' || lpad(to_hex(n), 12, '0'))::uuid, 1
      FROM generate_series(current_setting('bench.from')::bigint + 1, current_setting('bench.to')::bigint) AS n
)
INSERT INTO inbox_sequence (consumer, source, aggregate_id, last_sequence)
SELECT 'bench', 'orders', ('00000000-0000-7000-9000-' || lpad(to_hex(n), 12, '0'))::uuid, 1
  FROM generate_series(current_setting('bench.from')::bigint + 1, current_setting('bench.to')::bigint) AS n
