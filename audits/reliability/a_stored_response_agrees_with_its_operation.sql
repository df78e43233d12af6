-- Promise 15: the stored response of a command and its operation never contradict each other.
-- Databases: of each service.
--
-- Both change in one transaction. A stored 202 stays 202; the state of its record says that the outcome is known.
SELECT format('operation %s is %s%s, but its record is %s with %s', begun.operation_id, begun.state,
              coalesce(' with ' || begun.status, ''), record.state, coalesce(record.status::text, 'no stored response')) AS violation
  FROM idempotency_operation AS begun
  JOIN idempotency_record AS record USING (operation_id)
 WHERE record.state <> 'expired'
   AND NOT CASE begun.state
           WHEN 'running' THEN record.state IN ('started', 'unknown', 'failed_retryable')
           WHEN 'unknown' THEN record.state IN ('started', 'unknown')
           -- After the end, the stored response is the final reply, or a 202 that was stored before it.
           ELSE record.state IN ('completed', 'failed_terminal') AND record.status IN (begun.status, 202)
           END;
