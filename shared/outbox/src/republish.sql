-- The published rows from the first one since a time on ($1), or those of an aggregate ($2), as ranges of ids. Rows that the relay has still to
-- publish are left out.
WITH wanted AS (
    -- One range, so that the cursor's row stays small. Ids without a row leave the gaps again, as those of a rollback do, and blocked rows
    -- stay blocked.
    SELECT min(id) AS first_id, max(id) AS last_id FROM outbox_event WHERE created_at >= $1 HAVING count(*) > 0
    UNION ALL
    SELECT id, id FROM outbox_event WHERE aggregate_id = $2
), published AS (
    SELECT coalesce((SELECT range_agg(int8range(first_id, last_id, '[]')) FROM wanted), '{}')
           * int8multirange(int8range(NULL, position, '[]')) - gaps AS ids
      FROM outbox_cursor
), counted AS (
    SELECT count(*) AS messages, min(id) AS first_id, max(id) AS last_id
      FROM published CROSS JOIN unnest(ids) AS range JOIN outbox_event ON id >= lower(range) AND id < upper(range)
     -- Events behind a blocked one wait for its release.
     WHERE aggregate_id NOT IN (SELECT aggregate_id FROM outbox_blocked)
)
SELECT ids, messages, first_id, last_id, first.sequence AS first_sequence,
       CASE WHEN $2 IS NOT NULL THEN first.tenant_id END AS tenant,
       (SELECT created_at FROM outbox_event ORDER BY id LIMIT 1) AS rows_since
  FROM published CROSS JOIN counted LEFT JOIN outbox_event AS first ON first.id = first_id
