-- An order of any tenant, found by its id or that of its payment, and its timeline.
SELECT row_to_json(found)::text AS row
  FROM (SELECT id AS order_id,
               tenant_id AS tenant,
               state AS status,
               json_build_object('amount', amount, 'currency', currency) AS total,
               payment_id,
               to_char(placed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS placed_at,
               to_char(expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS expires_at,
               ARRAY (SELECT json_build_object(
                                 'at', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
                                 'what', what,
                                 'status', entry.state,
                                 -- A request, a message or a job, and its author.
                                 'cause', format('%s %s by %s', cause_kind, cause_id, cause_by))
                        FROM order_timeline AS entry
                       WHERE order_id = orders.id
                       ORDER BY entry.id) AS timeline
          FROM orders
         WHERE id = ($1 ->> 'order_id')::uuid OR payment_id = ($1 ->> 'order_id')::uuid) AS found
