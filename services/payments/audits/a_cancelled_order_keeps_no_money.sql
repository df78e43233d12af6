-- Promises 4 and 8: a capture for a cancelled order is refunded in full.
-- Database: payments.
SELECT format('payment %s was captured although its order %s is cancelled: %s of %s is given back', payment.id,
              payment.order_id, coalesce(sum(refund.amount), 0), payment.amount) AS violation
  FROM payment
  LEFT JOIN refund ON refund.payment_id = payment.id AND refund.state <> 'failed'
 WHERE payment.state = 'captured' AND payment.cancel_requested
 GROUP BY payment.id
HAVING coalesce(sum(refund.amount), 0) <> payment.amount;
