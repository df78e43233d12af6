-- Counts committed events that the relay's cursor has not passed: all of them, and those of one tenant.
-- Databases: of each service.
SELECT count(*) AS waiting, count(*) FILTER (WHERE event.tenant_id = $1) AS of_tenant
  FROM outbox_event AS event, outbox_cursor AS relay
 WHERE NOT outbox_is_published(relay, event.xid, event.id);
