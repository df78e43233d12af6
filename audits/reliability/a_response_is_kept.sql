-- Promises 1, 2 and 15: a stored response exists until it expires.
-- Databases: of each service.
SELECT format('operation %s was answered with %s until %s, but the answer is gone',
              record.operation_id, record.status, record.expires_at) AS violation
  FROM idempotency_record AS record
  LEFT JOIN idempotency_snapshot AS snapshot USING (operation_id)
 WHERE record.state IN ('completed', 'failed_terminal', 'unknown')
   AND record.expires_at > clock_timestamp()
   AND snapshot.operation_id IS NULL;
