-- Promises 6 and 7: the announced events of an order agree with its row.
-- Database: orders.
--
-- Of an order whose days retention has dropped, some events may be missing, and the others must agree.
WITH announced AS (
    SELECT aggregate_id AS id,
           count(*) AS events,
           bool_or(type = 'orders.OrderConfirmed.v1') AS confirmed,
           bool_or(type = 'orders.OrderCancelled.v1') AS cancelled,
           bool_or(type = 'orders.PaymentRequested.v1') AS charged
      FROM outbox_event
     WHERE aggregate_type = 'order'
     GROUP BY aggregate_id
), judged AS (
    SELECT id, state, sequence, payment_id IS NOT NULL AS has_payment,
           -- The last event is written a moment after the row, perhaps behind midnight.
           EXISTS (SELECT FROM outbox_dropped_day AS dropped
                    WHERE dropped.day BETWEEN (placed_at AT TIME ZONE 'UTC')::date
                                          AND (updated_at AT TIME ZONE 'UTC')::date + 1) AS is_trimmed
      FROM orders
)
SELECT format('order %s is %s at version %s, but has announced %s events (confirmed %s, cancelled %s, payment asked for %s)',
              judged.id, judged.state, judged.sequence, announced.events, announced.confirmed, announced.cancelled,
              announced.charged) AS violation
  FROM judged
  LEFT JOIN announced USING (id)
 WHERE CASE WHEN is_trimmed
            THEN announced.events > judged.sequence
                 OR (announced.confirmed AND judged.state <> 'confirmed')
                 OR (announced.cancelled AND judged.state <> 'cancelled')
                 OR (announced.charged AND NOT has_payment)
            ELSE announced.id IS NULL
                 OR announced.events <> judged.sequence
                 OR announced.confirmed <> (judged.state = 'confirmed')
                 OR announced.cancelled <> (judged.state = 'cancelled')
                 OR announced.charged <> has_payment
            END;
