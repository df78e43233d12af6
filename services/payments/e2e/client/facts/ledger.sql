-- The amount that the processor owes for each payment, and its fees, by our ledger.
-- Database: payments.
SELECT posted.payment_id::text AS payment, entry.currency,
       coalesce(sum(entry.amount) FILTER (WHERE entry.account = 'receivable'), 0)::bigint AS owed,
       coalesce(sum(entry.amount) FILTER (WHERE entry.account = 'fees'), 0)::bigint AS fees
  FROM ledger_transaction AS posted
  JOIN ledger_entry AS entry ON entry.transaction_id = posted.id
 WHERE entry.account IN ('receivable', 'fees')
 GROUP BY posted.payment_id, entry.currency;
