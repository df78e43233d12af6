-- The days that retention has dropped. Their events cannot be published again.
SELECT row_to_json(dropped)::text AS row
  FROM (SELECT count(*) AS days,
               coalesce(sum(rows), 0)::bigint AS rows,
               max(day) AS last_day,
               max(last_id) AS last_id
          FROM outbox_dropped_day) AS dropped
