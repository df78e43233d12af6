-- Promise 5: the ledger has one posting with the right amount for each capture, confirmation, fee and refund, and no other.
-- Database: payments.
WITH happened AS (
    SELECT 'capture' AS kind, id::text AS cause, tenant_id, id AS payment_id, 'receivable' AS debit,
           CASE WHEN order_id IS NULL THEN 'revenue' ELSE 'clearing' END AS credit, currency, amount
      FROM payment
     WHERE state = 'captured'
    UNION ALL
    SELECT 'confirmation', order_id::text, tenant_id, id, 'clearing', 'revenue', currency, amount
      FROM payment
     WHERE confirmed
    UNION ALL
    SELECT 'fee', fee_transaction, tenant_id, id, 'fees', 'receivable', fee_currency, fee
      FROM payment
     WHERE fee <> 0
    UNION ALL
    -- A failed refund may have succeeded before. Then the ledger has its posting and the reversal.
    SELECT way.kind, refund.id::text, refund.tenant_id, payment.id,
           CASE WHEN payment.order_id IS NULL OR payment.confirmed THEN 'refunds' ELSE 'clearing' END, 'receivable',
           payment.currency, way.direction * refund.amount
      FROM refund
      JOIN payment ON payment.id = refund.payment_id
     CROSS JOIN (VALUES ('refund', 1), ('refund_reversal', -1)) AS way (kind, direction)
     WHERE refund.state = 'succeeded' AND way.kind = 'refund'
        OR refund.state = 'failed'
           AND EXISTS (SELECT FROM ledger_transaction WHERE kind = 'refund' AND cause = refund.id::text)
), expected AS (
    SELECT kind, cause, tenant_id, payment_id, side.account, currency, side.amount
      FROM happened
     CROSS JOIN LATERAL (VALUES (debit, amount), (credit, -amount)) AS side (account, amount)
), posted AS (
    SELECT kind, cause, posted.tenant_id, payment_id, account, currency, amount
      FROM ledger_transaction AS posted
      JOIN ledger_entry AS entry ON entry.transaction_id = posted.id
)
SELECT format('%s of payment %s (cause %s): %s %s on %s by the tables, %s in the ledger', kind, payment_id, cause,
              coalesce(expected.amount, 0), currency, account, coalesce(posted.amount, 0)) AS violation
  FROM expected
  FULL JOIN posted USING (kind, cause, tenant_id, payment_id, account, currency)
 WHERE expected.amount IS DISTINCT FROM posted.amount;
