-- Promise 5: captured money of an order is in clearing until the order is settled, and not longer.
-- Database: payments.
--
-- An order is settled when it is confirmed or refunded in full. After its expiry it must be settled.
WITH clearing AS (
    SELECT posted.payment_id, entry.currency, -sum(entry.amount) AS held
      FROM ledger_transaction AS posted
      JOIN ledger_entry AS entry ON entry.transaction_id = posted.id
     WHERE entry.account = 'clearing'
     GROUP BY posted.payment_id, entry.currency
    HAVING sum(entry.amount) <> 0
), returned AS (
    SELECT payment_id, sum(amount) AS amount FROM refund WHERE state = 'succeeded' GROUP BY payment_id
)
SELECT format('payment %s of order %s (confirmed: %s, cancelled: %s): clearing holds %s %s', payment.id,
              payment.order_id, payment.confirmed, payment.cancel_requested, clearing.held, clearing.currency)
       AS violation
  FROM clearing
  JOIN payment ON payment.id = clearing.payment_id
  LEFT JOIN returned ON returned.payment_id = payment.id
 WHERE payment.confirmed
    OR returned.amount = payment.amount
    OR payment.expires_at + interval '60 seconds' < clock_timestamp();
