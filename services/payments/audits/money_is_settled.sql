-- Promise 8: once faults have ended, every charge and refund ends. Lists those that have not.
-- Database: payments.
--
-- A failed refund of a client has ended, because the client knows. A failed automatic refund is still owed, unless another
-- refund follows it.
SELECT format('payment %s of order %s is %s, and its order had time until %s', id, order_id, state, expires_at)
       AS violation
  FROM payment
 WHERE state IN ('requested', 'capturing', 'unknown')
   AND expires_at + interval '60 seconds' < clock_timestamp()
UNION ALL
SELECT format('refund %s of payment %s is %s since %s', id, payment_id, state, updated_at)
  FROM refund
 WHERE (state IN ('pending', 'unknown') OR state = 'failed' AND cause = 'order_cancelled'
        AND NOT EXISTS (SELECT FROM refund AS next WHERE next.follows = refund.id))
   AND updated_at + interval '60 seconds' < clock_timestamp();
