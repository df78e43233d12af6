-- Calls that are not due: half of them requests, half of them lookups.
INSERT INTO processor_call (id, tenant_id, kind, payment_id, provider_key, request, mode, attempt, sent_since, due_at)
SELECT id, 'bench', 'charge', id, 'idem-' || id || '-capture', 'amount=900', CASE n % 2 WHEN 0 THEN 'request' ELSE 'look_up' END,
       1, now(), now() + interval '1 day' + n * interval '1 microsecond'
  FROM generate_series(current_setting('bench.from')::bigint + 1, current_setting('bench.to')::bigint) AS n,
       LATERAL (SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid) AS made (id)
