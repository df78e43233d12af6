-- Promises 6 and 7: the announced events of an order agree with its row.
-- Database: orders.
WITH announced AS (
    SELECT aggregate_id AS id,
           count(*) AS events,
           bool_or(type = 'orders.OrderConfirmed.v1') AS confirmed,
           bool_or(type = 'orders.OrderCancelled.v1') AS cancelled,
           bool_or(type = 'orders.PaymentRequested.v1') AS charged
      FROM outbox_event
     WHERE aggregate_type = 'order'
     GROUP BY aggregate_id
)
SELECT format('order %s is %s at version %s, but has announced %s events (confirmed %s, cancelled %s, payment asked for %s)',
              orders.id, orders.state, orders.sequence, announced.events, announced.confirmed, announced.cancelled, announced.charged)
       AS violation
  FROM orders
  LEFT JOIN announced USING (id)
 WHERE announced.id IS NULL
    OR announced.events <> orders.sequence
    OR announced.confirmed <> (orders.state = 'confirmed')
    OR announced.cancelled <> (orders.state = 'cancelled')
    OR announced.charged <> (orders.payment_id IS NOT NULL);
