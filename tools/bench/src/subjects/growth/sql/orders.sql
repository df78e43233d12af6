-- Open orders. Each expires this long from now, one after the other.
INSERT INTO orders (id, tenant_id, client_id, state, lines, amount, currency, payment_method, sequence, expires_at)
SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'bench', 'bench', 'pending',
       '[{"sku": "TEA", "quantity": 2, "unit_price": {"amount": 450, "currency": "EUR"}}]', 900, 'EUR', 'pm_card_visa', 1,
       clock_timestamp() + current_setting('bench.expires')::interval + n * interval '1 microsecond'
  FROM generate_series(current_setting('bench.from')::bigint + 1, current_setting('bench.to')::bigint) AS n
