-- Promise 4: what was captured for a cancelled order is given back in full, by one automatic refund.
-- Database: payments.
SELECT format('payment %s was captured although its order %s is cancelled: %s of %s is given back', payment.id,
              payment.order_id, coalesce(sum(refund.amount), 0), payment.amount) AS violation
  FROM payment
  LEFT JOIN refund ON refund.payment_id = payment.id AND refund.state <> 'failed'
 WHERE payment.state = 'captured' AND payment.cancel_requested
 GROUP BY payment.id
HAVING coalesce(sum(refund.amount), 0) <> payment.amount;
