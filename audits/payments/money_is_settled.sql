-- Promise 8: once faults have ended, every charge and refund has come to its end. Listed is what has not.
-- Database: payments.
--
-- A refund that failed has ended if a client asked for it: it is told. The automatic one is still owed.
SELECT format('payment %s of order %s is %s, and its order had time until %s', id, order_id, state, expires_at)
       AS violation
  FROM payment
 WHERE state IN ('requested', 'capturing', 'unknown')
   AND expires_at + interval '60 seconds' < clock_timestamp()
UNION ALL
SELECT format('refund %s of payment %s is %s since %s', id, payment_id, state, updated_at)
  FROM refund
 WHERE (state IN ('pending', 'unknown') OR state = 'failed' AND cause = 'order_cancelled')
   AND updated_at + interval '60 seconds' < clock_timestamp();
