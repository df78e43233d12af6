-- Promise 5: captured money of an order is in clearing until the order is settled, and not longer.
-- Database: payments.
--
-- An order is settled when it is confirmed or refunded in full. After its expiry it must be settled.
SELECT format('payment %s of order %s (confirmed: %s, cancelled: %s): clearing holds %s %s', payment.id,
              payment.order_id, payment.confirmed, payment.cancel_requested, clearing.held, clearing.currency)
       AS violation
  FROM payment
 CROSS JOIN LATERAL (
     SELECT entry.currency, -sum(entry.amount) AS held
       FROM ledger_transaction AS posted
       JOIN ledger_entry AS entry ON entry.transaction_id = posted.id
      WHERE posted.payment_id = payment.id AND entry.account = 'clearing'
      GROUP BY entry.currency) AS clearing
 CROSS JOIN LATERAL (
     SELECT coalesce(sum(amount), 0) AS amount
       FROM refund
      WHERE payment_id = payment.id AND state = 'succeeded') AS returned
 WHERE clearing.held <> 0
   AND (payment.confirmed
        OR returned.amount = payment.amount
        OR payment.expires_at + interval '60 seconds' < clock_timestamp());
