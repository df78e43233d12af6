-- Promise 6: every committed event is published. Lists events that the relay has not passed within a minute or has blocked.
-- Databases: of each service.
SELECT format('event %s, %s of %s %s, has waited since %s', event.event_id, event.type, event.aggregate_type,
              event.aggregate_id, event.created_at) AS violation
  FROM outbox_event AS event, outbox_cursor AS relay
 WHERE NOT outbox_is_published(relay, event.xid, event.id)
   AND event.created_at < clock_timestamp() - interval '1 minute'
UNION ALL
SELECT format('row %s of aggregate %s, is blocked since %s: %s', id, aggregate_id, blocked_at,
              coalesce(error, 'behind an earlier one'))
  FROM outbox_blocked;
