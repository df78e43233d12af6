-- Explains the events of these aggregates ($1) that were written beside the rows of these times ($2) by the service ($3). The aggregates have
-- announced $4 events.
-- Databases: of each service.
--
-- An event is written just before the COMMIT of the transaction that wrote the rows which it announces, so it is at most a transaction's life
-- later than one of them. The outbox has no index on aggregates and none on times. Because ids are drawn in the order of time, a binary
-- search finds the first id of each bound. Each span then reads a range of ids, of 100,000 at most.
WITH RECURSIVE span (from_time, until_time) AS (
    SELECT lower(span), upper(span)
      FROM unnest((SELECT range_agg(tstzrange(at - interval '1 second', at + interval '5 seconds'))
                     FROM unnest($2) AS own_row (at))) AS span
), whole AS (
    SELECT min(id) AS first_id, max(id) AS last_id FROM outbox_event
), bisection (bound, low, high) AS (
    SELECT bounds.bound, whole.first_id, whole.last_id + 1
      FROM whole, (SELECT from_time FROM span UNION SELECT until_time FROM span) AS bounds (bound)
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
), event AS (
    SELECT event.*, split_part(event.type, '.', 2) AS name, blocked.id IS NOT NULL AS is_blocked, blocked.error,
           outbox_is_published(relay, event.xid, event.id) AS has_been_passed
      FROM outbox_cursor AS relay
     CROSS JOIN span
      JOIN found AS opening ON opening.bound = span.from_time
      JOIN found AS closing ON closing.bound = span.until_time
     CROSS JOIN LATERAL (SELECT * FROM outbox_event
                          WHERE id >= opening.id AND id < least(closing.id, opening.id + 100000) AND aggregate_id = ANY ($1)) AS event
      LEFT JOIN outbox_blocked AS blocked ON blocked.id = event.id
), lease (is_active, owner) AS (
    SELECT lease_until > clock_timestamp(), owner FROM outbox_lease
)
(SELECT created_at AS at, 'outbox' AS step, format('%s id %s, %s, sequence %s', name, id, type, sequence) AS text,
        jsonb_build_object('event', jsonb_build_object(
            'id', event_id, 'name', name, 'aggregate', aggregate_id, 'topic', topic, 'key', partition_key,
            'state', CASE WHEN is_blocked THEN coalesce('blocked: ' || error, 'blocked behind an earlier event')
                          WHEN has_been_passed THEN 'published'
                          ELSE 'not published'
                     END))
        || CASE WHEN is_blocked THEN jsonb_build_object(
                    'obstacle', format('its %s (outbox id %s) is blocked: %s', name, id, coalesce(error, 'it waits behind an earlier event')),
                    'is_urgent', true,
                    'cure', format('remove the cause, then ./dev run %s outbox release --aggregate %s --by NAME --reason TEXT', $3, aggregate_id))
                WHEN NOT has_been_passed THEN jsonb_build_object(
                    'obstacle', format('its %s (outbox id %s) is not published, %s', name, id,
                                       CASE WHEN is_active THEN 'the relay is ' || owner ELSE 'relay none' END),
                    'cure', CASE WHEN is_active THEN format('./dev run %s outbox status', $3) ELSE './dev up' END)
                ELSE '{}'
           END AS detail
   FROM event
  CROSS JOIN lease
  ORDER BY id)
UNION ALL
SELECT NULL, 'gap', concat(missing, ' events of ', $3, ' are not in its outbox', '; days until ' || dropped_until || ' are dropped'), NULL
  FROM (SELECT $4 - count(*) AS missing, (SELECT max(day) FROM outbox_dropped_day) AS dropped_until FROM event) AS announced
 WHERE missing > 0;
