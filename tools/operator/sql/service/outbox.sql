-- The events of these aggregates ($1) that were written within these spans of time (from $2, until $3, which do not overlap).
-- Databases: orders, inventory, payments.
--
-- The outbox has no index on aggregates and none on times. Because ids are drawn in the order of time, a binary search finds the first
-- id of each bound. Each span then reads a range of ids, of 100,000 at most.
WITH RECURSIVE whole AS (
    SELECT min(id) AS first_id, max(id) AS last_id FROM outbox_event
), bisection (bound, low, high) AS (
    SELECT bounds.bound, whole.first_id, whole.last_id + 1
      FROM whole, (SELECT unnest($2) UNION SELECT unnest($3)) AS bounds (bound)
     WHERE whole.first_id IS NOT NULL
    UNION ALL
    SELECT bisection.bound,
           CASE WHEN probe.created_at < bisection.bound THEN probe.id + 1 ELSE bisection.low END,
           CASE WHEN probe.created_at < bisection.bound THEN bisection.high ELSE (bisection.low + bisection.high) / 2 END
      FROM bisection
     CROSS JOIN LATERAL (SELECT id, created_at FROM outbox_event
                          WHERE id >= (bisection.low + bisection.high) / 2 ORDER BY id LIMIT 1) AS probe
     WHERE bisection.low < bisection.high
), found (bound, id) AS (
    SELECT bound, low FROM bisection WHERE low >= high
)
SELECT event.id, event.event_id, event.topic, event.aggregate_id, event.partition_key, event.sequence, event.type AS kind, event.created_at,
       outbox_is_published(relay, event.xid, event.id) AS has_been_passed,
       blocked.id IS NOT NULL AS is_blocked, blocked.error AS blocked_error
  FROM outbox_cursor AS relay
 CROSS JOIN unnest($2, $3) AS span (from_time, until_time)
  JOIN found AS opening ON opening.bound = span.from_time
  JOIN found AS closing ON closing.bound = span.until_time
 CROSS JOIN LATERAL (SELECT * FROM outbox_event
                      WHERE id >= opening.id AND id < least(closing.id, opening.id + 100000) AND aggregate_id = ANY ($1)) AS event
  LEFT JOIN outbox_blocked AS blocked ON blocked.id = event.id
 ORDER BY event.id;
