-- Explains the operations ($1), each with the time of the first row that it has written ($2): who asked, and the record of the key. The
-- key itself stays in the database: its hash is the one of the log.
-- Databases: of each service.
SELECT CASE WHEN is_client THEN least(first_row_at, recorded_at, key.created_at) ELSE recorded_at END AS at,
       CASE WHEN is_client THEN 'request' ELSE 'fact' END AS step,
       concat(action, ' by ', actor, ' of tenant ', fact.tenant_id, ', operation ', fact.operation_id,
              CASE WHEN is_client AND key.key IS NULL THEN '; the record of its key has expired'
                   WHEN is_client THEN concat(
                       '; key ', left(encode(sha256(convert_to(key.key, 'UTF8')), 'hex'), 8), ' is ', key.state, ' with ' || key.status,
                       ', its response is kept until ' || to_char(key.expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'))
              END) AS text,
       NULL::jsonb AS detail
  FROM unnest($1, $2) AS operation (id, first_row_at)
  JOIN audit_fact AS fact ON fact.operation_id = operation.id
  LEFT JOIN idempotency_record AS key ON key.operation_id = operation.id
 CROSS JOIN LATERAL (SELECT fact.actor NOT LIKE '@%' AS is_client) AS asked;
