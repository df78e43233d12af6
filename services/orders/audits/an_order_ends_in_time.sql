-- Promise 8: an order is confirmed or cancelled within its expiry + 60 s.
-- Database: orders.
SELECT format('order %s is %s, and had time until %s', id, state, expires_at) AS violation
  FROM orders
 WHERE state NOT IN ('confirmed', 'cancelled')
   AND expires_at + interval '60 seconds' < clock_timestamp();
