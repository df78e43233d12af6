-- Every `…_seconds` is a time in seconds by the database's clock.
WITH
-- The last holder of the lease. `lease_seconds` is negative after its end, and null if no relay ever had it.
relay AS (
    SELECT lease_until > clock_timestamp() AS active, owner, epoch,
           CASE WHEN isfinite(lease_until)
                THEN round(extract(epoch FROM lease_until - clock_timestamp()), 3)::float8 END AS lease_seconds
      FROM outbox_lease),
-- Every committed row up to the position is published or blocked, unless its id is in a gap: its transaction was open, it was under
-- way to Kafka, or it is to be published again.
cursor AS (
    SELECT position, gaps::text AS gaps, round(extract(epoch FROM clock_timestamp() - updated_at), 3)::float8 AS age_seconds
      FROM outbox_cursor),
-- The committed rows that the relay has not published.
unpublished AS (
    SELECT event.created_at FROM outbox_cursor AS relay JOIN outbox_event AS event ON event.id > relay.position
    UNION ALL
    SELECT event.created_at FROM outbox_cursor AS relay CROSS JOIN LATERAL unnest(relay.gaps) AS gap
      JOIN outbox_event AS event ON event.id >= lower(gap) AND event.id < upper(gap)),
backlog AS (
    SELECT count(*) AS rows,
           round(extract(epoch FROM clock_timestamp() - min(created_at)), 3)::float8 AS oldest_seconds
      FROM unpublished),
-- The rows that Kafka refused, and those behind them. The relay has passed them, so they are not in the backlog.
blocked AS (
    SELECT count(*) AS rows, count(DISTINCT aggregate_id) AS aggregates,
           round(extract(epoch FROM clock_timestamp() - min(blocked_at)), 3)::float8 AS oldest_seconds,
           (SELECT format('row %s of aggregate %s: %s', id, aggregate_id, error)
              FROM outbox_blocked WHERE error IS NOT NULL ORDER BY id LIMIT 1) AS first
      FROM outbox_blocked),
-- Two estimates, because a crash of the server resets the counted rows and keeps the result of ANALYZE.
days AS (
    SELECT part.relname::text AS name,
           greatest(part.reltuples::bigint, pg_stat_get_live_tuples(part.oid), 0) AS rows_estimate
      FROM pg_inherits JOIN pg_class AS part ON part.oid = inhrelid
     WHERE inhparent = 'outbox_event'::regclass),
-- The days that retention has dropped. Their events cannot be published again.
dropped AS (
    SELECT count(*) AS days, coalesce(sum(rows), 0)::bigint AS rows, max(day) AS last_day, max(last_id) AS last_id
      FROM outbox_dropped_day)
SELECT row_to_json(status)::text AS row
  FROM (SELECT (SELECT row_to_json(relay) FROM relay) AS relay,
               (SELECT row_to_json(cursor) FROM cursor) AS cursor,
               (SELECT row_to_json(backlog) FROM backlog) AS backlog,
               (SELECT row_to_json(blocked) FROM blocked) AS blocked,
               (SELECT coalesce(json_agg(row_to_json(days) ORDER BY name), '[]') FROM days) AS partitions,
               -- Rows whose day began before its partition was created. Usually the partition is empty, and then no row is read.
               -- The query names the whole table, because the service's role may not read a partition directly.
               CASE WHEN pg_relation_size('outbox_event_default') = 0 THEN false
                    ELSE EXISTS (SELECT FROM outbox_event WHERE tableoid = 'outbox_event_default'::regclass)
               END AS default_holds_rows,
               (SELECT row_to_json(dropped) FROM dropped) AS dropped) AS status
