-- Promise 9: one audit fact for each accepted request. A rejected request has none, and a replay adds none.
-- Databases: of each service.
--
-- Because operation_id is unique, a replay that ran again would show as a fact of an operation that has no record.
-- These facts have no record, because no request with a key caused them: a PUT (idempotent by itself), the expiry of an
-- order, the charge or refund of an order (caused by a message), and the commands of operators.
-- A phased command is accepted when it begins, even if it fails later: a declined card was charged on the tenant's request.
WITH kept AS (
    -- How long keys are kept; less if that was so for one of them.
    SELECT coalesce(min(length), interval '30 days') AS length
      FROM (SELECT min(tombstone_until - completed_at) AS length FROM idempotency_record
            UNION ALL
            SELECT min(tombstone_until - completed_at) FROM idempotency_tombstone) AS lengths
)
SELECT format('operation %s was accepted with %s, but has no audit fact', record.operation_id, record.status) AS violation
  FROM idempotency_record AS record
  LEFT JOIN audit_fact AS fact USING (operation_id)
 WHERE record.state = 'completed' AND record.status < 400 AND fact.id IS NULL
UNION ALL
SELECT format('operation %s was rejected with %s, but has the audit fact %s', operation_id, record.status, fact.action)
  FROM idempotency_record AS record
  JOIN audit_fact AS fact USING (operation_id)
 WHERE record.status >= 400
   AND NOT EXISTS (SELECT FROM idempotency_operation AS begun WHERE begun.operation_id = record.operation_id)
UNION ALL
SELECT format('operation %s was begun and is %s, but has no audit fact', begun.operation_id, begun.state)
  FROM idempotency_operation AS begun
  LEFT JOIN audit_fact AS fact USING (operation_id)
 WHERE fact.id IS NULL
UNION ALL
SELECT format('%s says that %s %s was done to %s %s, but no operation %s was accepted',
              fact.id, fact.actor, fact.action, fact.subject_type, fact.subject_id, fact.operation_id)
  FROM audit_fact AS fact
  LEFT JOIN idempotency_record AS record USING (operation_id)
 WHERE record.operation_id IS NULL
   AND fact.actor NOT LIKE '@operator:%'
   AND fact.action NOT IN ('item.put', 'order.expire', 'payment.charge', 'payment.refund')
   -- An expired record has moved to the tombstones, and these are dropped when their keys are free again.
   AND NOT EXISTS (SELECT FROM idempotency_tombstone AS tombstone WHERE tombstone.operation_id = fact.operation_id)
   AND fact.recorded_at > clock_timestamp() - (SELECT length FROM kept);
