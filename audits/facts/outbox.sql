-- What a tenant's transactions committed to be told to the other services.
-- Databases: orders, payments, inventory.
SELECT event_id, topic, partition_key, aggregate_id, sequence, type AS kind, payload
  FROM outbox_event
 WHERE tenant_id = $1
   AND topic LIKE '%.events';
