-- Records of completed commands with their responses. Keys are random, and sorted here only to fill the index faster.
WITH record AS (
    INSERT INTO idempotency_record (tenant_id, client_id, method, route, key, fingerprint, fingerprint_version, state,
                                    operation_id, status, completed_at, expires_at, tombstone_until)
    SELECT 'bench', 'bench', 'POST', '/v1/orders', key, sha256(key::bytea), 1, 'completed',
           ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 201, now(), now() + interval '24 hours',
           now() + interval '30 days'
      FROM (SELECT n, md5(n::text)::uuid::text AS key
              FROM generate_series(current_setting('bench.from')::bigint + 1, current_setting('bench.to')::bigint) AS n
             ORDER BY key) AS keys
)
INSERT INTO idempotency_snapshot (operation_id, headers, body)
SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, '[["Content-Type", "application/json"]]',
       convert_to(repeat('x', 400), 'UTF8')
  FROM generate_series(current_setting('bench.from')::bigint + 1, current_setting('bench.to')::bigint) AS n
