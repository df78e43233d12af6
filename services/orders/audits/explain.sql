-- Explains the order ($1): tenant, contents, state and timeline.
-- Database: orders.
WITH this AS (SELECT * FROM orders WHERE id = $1)
SELECT NULL::timestamptz AS at, 'tenant' AS step, tenant_id AS text, NULL::jsonb AS detail
  FROM this
UNION ALL
SELECT NULL, 'summary', format('%s for {%s %s}', contents, amount, currency), NULL
  FROM this, LATERAL (SELECT string_agg(format('%s × %s', line ->> 'quantity', line ->> 'sku'), ', ')
                        FROM jsonb_array_elements(lines) AS line) AS content (contents)
UNION ALL
SELECT NULL, 'status',
       CASE state
           WHEN 'cancelled' THEN format('cancelled (%s)', cancel_reason)
           WHEN 'confirmed' THEN 'confirmed'
           ELSE format('open: waits for %s, %s %s',
                       CASE state WHEN 'pending' THEN 'inventory' ELSE 'payments' END,
                       CASE WHEN expires_at < clock_timestamp() THEN 'should have expired at' ELSE 'expires at' END,
                       to_char(expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'))
       END,
       jsonb_build_object('announced', sequence)
  FROM this
UNION ALL
SELECT NULL, 'status', 'orders has no such order', NULL
 WHERE NOT EXISTS (SELECT FROM this)
UNION ALL
(SELECT at, 'row', format('%s: the order is %s; by a %s of %s', what, state, cause_kind, cause_by),
        CASE WHEN cause_kind <> 'message' THEN jsonb_build_object('operation', cause_id) END
   FROM order_timeline
  WHERE order_id = $1
  ORDER BY id);
