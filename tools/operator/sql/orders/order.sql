-- The order ($1).
-- Database: orders.
SELECT tenant_id, state, cancel_reason, amount, currency, sequence, expires_at, expires_at < clock_timestamp() AS is_overdue,
       (SELECT string_agg(format('%s × %s', line ->> 'quantity', line ->> 'sku'), ', ')
          FROM jsonb_array_elements(lines) AS line) AS contents
  FROM orders
 WHERE id = $1;
