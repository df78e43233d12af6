-- Promise 15: the operation of a client's charge or refund agrees with the state of its payment or refund.
-- Database: payments.
WITH request AS (
    SELECT id, tenant_id, 'payment' AS kind, operation_id, state, created_at, expires_at,
           CASE state
           WHEN 'captured' THEN ARRAY['succeeded']
           WHEN 'unknown' THEN ARRAY['unknown']
           WHEN 'declined' THEN ARRAY['failed']
           WHEN 'cancelled' THEN ARRAY['failed']
           ELSE ARRAY['running']
           END AS expected
      FROM payment
     WHERE operation_id IS NOT NULL
    UNION ALL
    SELECT id, tenant_id, 'refund', operation_id, state, created_at, NULL,
           CASE state
           WHEN 'succeeded' THEN ARRAY['succeeded']
           WHEN 'unknown' THEN ARRAY['unknown']
           -- A bank may return a refund after its operation has succeeded.
           WHEN 'failed' THEN ARRAY['failed', 'succeeded']
           ELSE ARRAY['running']
           END
      FROM refund
     WHERE operation_id IS NOT NULL
)
SELECT format('%s %s is %s, but its operation %s is %s', request.kind, request.id, request.state, request.operation_id,
              coalesce(begun.state, 'not there')) AS violation
  FROM request
  LEFT JOIN idempotency_operation AS begun USING (operation_id)
 WHERE begun.state <> ALL (request.expected)
    -- The operation of an older request may have been erased, and each one at the request of its tenant.
    OR (begun.state IS NULL
        AND request.created_at > clock_timestamp()
                - (SELECT coalesce(min(tombstone_kept), interval '30 days') FROM idempotency_operation)
        AND NOT EXISTS (SELECT FROM audit_fact AS erasure
                         WHERE erasure.action = 'texts.erase' AND erasure.subject_id = request.tenant_id
                           AND erasure.recorded_at >= request.created_at))
UNION ALL
-- A client may retry a charge until its payment expires. After that, the operation must have ended.
SELECT format('payment %s had time until %s, but operation %s still asks the client to retry', request.id,
              request.expires_at, request.operation_id)
  FROM request
  JOIN idempotency_record AS record USING (operation_id)
 WHERE record.state = 'failed_retryable'
   AND request.expires_at + interval '60 seconds' < clock_timestamp();
