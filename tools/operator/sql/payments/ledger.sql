-- The ledger entries about the payment ($1).
-- Database: payments.
SELECT posted.id, posted.kind, posted.recorded_at, entry.account, entry.currency, entry.amount
  FROM ledger_transaction AS posted
  JOIN ledger_entry AS entry ON entry.transaction_id = posted.id
 WHERE posted.payment_id = $1
 ORDER BY posted.id, entry.line;
