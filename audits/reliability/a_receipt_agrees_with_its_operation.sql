-- Promise 15: what retries are told of a command, and what its operation tells, never contradict each other.
-- Databases: orders, payments, inventory.
--
-- Both move in one transaction. A receipt of 202 stays what it is; its record says by its state that the end is known.
SELECT format('operation %s is %s%s, but its record is %s with %s', begun.operation_id, begun.state,
              coalesce(' with ' || begun.status, ''), record.state, coalesce(record.status::text, 'no receipt')) AS violation
  FROM idempotency_operation AS begun
  JOIN idempotency_record AS record USING (operation_id)
 WHERE record.state <> 'expired'
   AND NOT CASE begun.state
           WHEN 'running' THEN record.state IN ('started', 'unknown', 'failed_retryable')
           WHEN 'unknown' THEN record.state IN ('started', 'unknown')
           -- Ended: the receipt is the final reply, unless it was given before.
           ELSE record.state IN ('completed', 'failed_terminal') AND record.status IN (begun.status, 202)
           END;
