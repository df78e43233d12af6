-- Promise 4: refunds never exceed the capture, and refund_reserved equals their sum.
-- Database: payments.
WITH claimed AS (
    SELECT payment_id, sum(amount) AS amount FROM refund WHERE state <> 'failed' GROUP BY payment_id
)
SELECT format('payment %s of %s is %s: %s claimed by refunds, %s noted', payment.id, payment.amount, payment.state,
              coalesce(claimed.amount, 0), payment.refund_reserved) AS violation
  FROM payment
  LEFT JOIN claimed ON claimed.payment_id = payment.id
 WHERE payment.refund_reserved <> coalesce(claimed.amount, 0)
    OR coalesce(claimed.amount, 0) > CASE payment.state WHEN 'captured' THEN payment.amount ELSE 0 END
UNION ALL
-- A refund follows a failed one of the same payment and amount.
SELECT format('refund %s of %s follows refund %s, which is %s and of %s', next.id, next.amount, failed.id, failed.state,
              failed.amount)
  FROM refund AS next
  JOIN refund AS failed ON failed.id = next.follows
 WHERE failed.state <> 'failed' OR (failed.payment_id, failed.amount, failed.cause)
       <> (next.payment_id, next.amount, next.cause);
