-- Promise 19: no command is executed under a key after its fence.
-- Databases: of each service.
SELECT format('operation %s used its key at %s, after the client had fenced it at %s',
              used.operation_id, used.created_at, fence.fenced_at) AS violation
  FROM idempotency_fence AS fence
  JOIN (
        SELECT idempotency_key_digest(tenant_id, client_id, key) AS key_digest, operation_id, created_at FROM idempotency_record
        UNION ALL
        SELECT key_digest, operation_id, created_at FROM idempotency_tombstone
       ) AS used USING (key_digest)
 WHERE used.created_at > fence.fenced_at;
