-- Who asked for these operations ($1), with the record of the key. The key itself stays in the database.
-- Databases: orders, payments.
SELECT operation.id AS operation_id, fact.tenant_id, fact.actor, fact.action, fact.recorded_at,
       left(encode(sha256(convert_to(record.key, 'UTF8')), 'hex'), 8) AS key_hash,
       record.state AS key_state, record.status, record.created_at AS key_created_at, record.expires_at
  FROM unnest($1) AS operation (id)
  LEFT JOIN audit_fact AS fact ON fact.operation_id = operation.id
  LEFT JOIN idempotency_record AS record ON record.operation_id = operation.id;
