-- The committed events of a tenant.
-- Databases: of each service.
SELECT event_id, topic, partition_key, aggregate_id, sequence, type AS kind, payload
  FROM outbox_event
 WHERE tenant_id = $1
   AND topic LIKE '%.events';
