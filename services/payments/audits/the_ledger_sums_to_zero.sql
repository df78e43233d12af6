-- Promise 5: each transaction of the ledger sums to zero in each currency, and so does the ledger.
-- Database: payments.
SELECT format('ledger transaction %s (%s of payment %s) has %s entries and sums to %s %s', posted.id, posted.kind,
              posted.payment_id, count(entry.line), coalesce(sum(entry.amount), 0), entry.currency) AS violation
  FROM ledger_transaction AS posted
  LEFT JOIN ledger_entry AS entry ON entry.transaction_id = posted.id
 GROUP BY posted.id, entry.currency
HAVING coalesce(sum(entry.amount), 0) <> 0 OR count(entry.line) < 2;
