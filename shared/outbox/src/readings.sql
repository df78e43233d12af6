-- Rows behind the position and rows of the gaps, beside the lease and the blocked events.
WITH relay AS (
    SELECT position, gaps, coalesce(pg_sequence_last_value('outbox_event_id_seq'), 0) AS drawn_id FROM outbox_cursor
),
unpublished AS (
    -- A range of ids, because a LIMIT bounds the result only: on a table without statistics, PostgreSQL reads all rows and sorts them.
    SELECT event.created_at
      FROM relay
      JOIN outbox_event AS event ON event.id > relay.position AND event.id <= relay.position + 2000
    UNION ALL
    (SELECT event.created_at
       FROM relay
      CROSS JOIN LATERAL unnest(relay.gaps) AS gap
       JOIN outbox_event AS event ON event.id >= lower(gap) AND event.id < upper(gap)
      LIMIT 1000)
)
SELECT CASE WHEN relay.drawn_id <= relay.position + 2000 THEN counted.events
            ELSE relay.drawn_id - relay.position END AS unpublished,
       oldest_seconds,
       epoch,
       CASE WHEN isfinite(lease_until)
            THEN greatest(extract(epoch FROM lease_until - clock_timestamp()), 0)::float8
            ELSE 0 END AS remaining_seconds,
       (SELECT count(*) FROM (SELECT FROM outbox_blocked LIMIT 10000) AS limited) AS blocked
  FROM relay
 CROSS JOIN outbox_lease
 CROSS JOIN (SELECT count(*) AS events,
                    coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0)::float8 AS oldest_seconds
               FROM unpublished) AS counted
