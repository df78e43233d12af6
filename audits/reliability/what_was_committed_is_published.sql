-- Promise 6: every committed event is published. Lists events that the relay has not passed within a minute.
-- Databases: orders, payments, inventory.
SELECT format('event %s, %s of %s %s, has waited since %s', event.event_id, event.type, event.aggregate_type,
              event.aggregate_id, event.created_at) AS violation
  FROM outbox_event AS event, outbox_cursor AS relay
 WHERE NOT outbox_is_published(relay, event.xid, event.id)
   AND event.created_at < clock_timestamp() - interval '1 minute';
