-- Promise 3: a key that was erased is refused until its tombstone ends.
-- Databases: of each service.
SELECT format('the key of operation %s is refused until %s, but operation %s used it at %s',
              tombstone.operation_id, tombstone.tombstone_until, record.operation_id, record.created_at) AS violation
  FROM idempotency_record AS record
  JOIN idempotency_tombstone AS tombstone
    ON tombstone.key_digest = idempotency_key_digest(record.tenant_id, record.client_id, record.key)
   AND tombstone.method = record.method
   AND tombstone.route = record.route
 WHERE record.created_at < tombstone.tombstone_until;
