-- Promises 6 and 7: the announced events of an order agree with its row.
-- Database: orders.
WITH told AS (
    SELECT aggregate_id AS id,
           count(*) AS events,
           bool_or(type = 'orders.OrderConfirmed.v1') AS confirmed,
           bool_or(type = 'orders.OrderCancelled.v1') AS cancelled,
           bool_or(type = 'orders.PaymentRequested.v1') AS charged
      FROM outbox_event
     WHERE aggregate_type = 'order'
     GROUP BY aggregate_id
)
SELECT format('order %s is %s at version %s, but has told %s events (confirmed %s, cancelled %s, payment asked for %s)',
              orders.id, orders.state, orders.sequence, told.events, told.confirmed, told.cancelled, told.charged)
       AS violation
  FROM orders
  LEFT JOIN told USING (id)
 WHERE told.id IS NULL
    OR told.events <> orders.sequence
    OR told.confirmed <> (orders.state = 'confirmed')
    OR told.cancelled <> (orders.state = 'cancelled')
    OR told.charged <> (orders.payment_id IS NOT NULL);
