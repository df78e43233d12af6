-- Every `…_seconds` is a time in seconds by the database's clock.
WITH
-- The last holder of the lease. `lease_seconds` is negative after its end, and null if no relay ever had it.
relay AS (
    SELECT lease_until > clock_timestamp() AS active, owner, epoch,
           CASE WHEN isfinite(lease_until)
                THEN round(extract(epoch FROM lease_until - clock_timestamp()), 3)::float8 END AS lease_seconds
      FROM outbox_lease),
-- All rows that are visible in snapshot A are published; of those that are visible in B, the rows up to `last_id`. After a re-base,
-- `restored_id` is the last row that came with the restored database.
cursor AS (
    SELECT snapshot_a, snapshot_b, last_id, restored_id,
           round(extract(epoch FROM clock_timestamp() - updated_at), 3)::float8 AS age_seconds
      FROM outbox_cursor),
-- The committed rows that the relay has not published. The two parts are those of the relay's window: rows above the floor, and
-- earlier rows of transactions that were open at A.
unpublished AS (
    SELECT event.created_at FROM outbox_cursor AS relay, outbox_event AS event
     WHERE event.id > relay.floor_a AND NOT outbox_is_published(relay, event.xid, event.id)
    UNION ALL
    SELECT event.created_at
      FROM outbox_cursor AS relay
           CROSS JOIN LATERAL (SELECT pg_snapshot_xip(relay.snapshot_a::pg_snapshot)
                               UNION ALL
                               SELECT n::text::xid8
                                 FROM generate_series(pg_snapshot_xmax(relay.snapshot_a::pg_snapshot)::text::bigint,
                                                      relay.next_xid_a - 1) AS n) AS open (xid)
           JOIN outbox_event AS event ON event.xid = open.xid AND event.id <= relay.floor_a
     WHERE NOT outbox_is_published(relay, event.xid, event.id)),
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
