-- Captured payments of the last weeks, none of them in the last two hours: each with its call, its two postings, its audit fact,
-- and nine facts of payments that are not there any more.
CREATE TEMPORARY TABLE made AS
SELECT n, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid AS id,
       now() - interval '28 days' + n * (interval '27 days' / current_setting('bench.to')::bigint) AS at
  FROM generate_series(current_setting('bench.from')::bigint + 1, current_setting('bench.to')::bigint) AS n;
INSERT INTO payment (id, tenant_id, amount, currency, payment_method, state, processor_intent, processor_charge, fee,
                     fee_currency, fee_transaction, expires_at, created_at, updated_at)
SELECT id, 'bench', 900, 'EUR', 'pm_card_visa', 'captured', 'pi_' || id, 'ch_' || id, 43, 'EUR', 'txn_' || id, at, at, at
  FROM made;
INSERT INTO processor_call (id, tenant_id, kind, payment_id, provider_key, request, attempt, sent_since, last_sent_at,
                            processor_object, due_at, created_at)
SELECT id, 'bench', 'charge', id, 'idem-' || id || '-capture', 'amount=900', 1, at, at, 'pi_' || id, NULL, at FROM made;
WITH posted AS (
    INSERT INTO ledger_transaction (tenant_id, kind, cause, payment_id, recorded_at)
    SELECT 'bench', kind, CASE kind WHEN 'capture' THEN id::text ELSE 'txn_' || id END, id, at
      FROM made, (VALUES ('capture'), ('fee')) AS posting (kind)
    RETURNING id, kind
)
INSERT INTO ledger_entry (transaction_id, line, tenant_id, account, currency, amount)
SELECT posted.id, side.line, 'bench', side.account, 'EUR', side.amount
  FROM posted
  JOIN (VALUES ('capture', 1, 'receivable', 900), ('capture', 2, 'revenue', -900),
               ('fee', 1, 'fees', 43), ('fee', 2, 'receivable', -43)) AS side (kind, line, account, amount) USING (kind);
INSERT INTO audit_fact (id, tenant_id, actor, action, subject_type, subject_id, operation_id, details, recorded_at)
SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n * 10 + k), 12, '0'))::uuid, 'bench', '@system', 'payment.charge', 'payment',
       CASE k WHEN 0 THEN id::text ELSE ('00000000-0000-7000-9000-' || lpad(to_hex(n * 10 + k), 12, '0')) END,
       ('00000000-0000-7000-8000-' || lpad(to_hex(n * 10 + k), 12, '0'))::uuid, '{"amount": 900, "currency": "EUR"}', at
  FROM made, generate_series(0, 9) AS k;
DROP TABLE made
