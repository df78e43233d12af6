-- Promise 7: the timeline of an order begins with OrderPlaced, ends in the order's state, and has every change.
-- Database: orders.
WITH story AS (
    SELECT order_id AS id,
           count(*) FILTER (WHERE what IN ('OrderPlaced', 'PaymentRequested', 'OrderConfirmed', 'OrderCancelled')) AS announced,
           (array_agg(what ORDER BY order_timeline.id))[1] AS first,
           (array_agg(state ORDER BY order_timeline.id DESC))[1] AS state
      FROM order_timeline
     GROUP BY order_id
), consumed AS (
    SELECT consumer, message_id, message.source, aggregate_id, message.sequence, orders.id
      FROM inbox_message AS message JOIN orders ON orders.id = aggregate_id
     WHERE message.source = 'inventory'
     UNION ALL
    SELECT consumer, message_id, message.source, aggregate_id, message.sequence, orders.id
      FROM inbox_message AS message JOIN orders ON orders.payment_id = aggregate_id
     WHERE message.source = 'payments'
)
SELECT format('order %s is %s at version %s, but its timeline begins with %s, ends as %s and has %s changes',
              orders.id, orders.state, orders.sequence, coalesce(story.first, 'nothing'),
              coalesce(story.state, 'nothing'), coalesce(story.announced, 0)) AS violation
  FROM orders
  LEFT JOIN story USING (id)
 WHERE story.id IS NULL
    OR story.first <> 'OrderPlaced'
    OR story.state <> orders.state
    OR story.announced <> orders.sequence
UNION ALL
-- Every applied message about an order is in its timeline, even if it came too late to change the order.
SELECT format('message %s of %s about order %s is not in its timeline', consumed.message_id, consumed.source, consumed.id)
  FROM consumed
  JOIN inbox_sequence AS line USING (consumer, source, aggregate_id)
  LEFT JOIN order_timeline AS entry ON entry.order_id = consumed.id AND entry.cause_id = consumed.message_id
  LEFT JOIN inbox_parked AS waiting USING (consumer, message_id)
 WHERE entry.order_id IS NULL
   AND waiting.message_id IS NULL
   AND consumed.sequence BETWEEN 1 AND line.last_sequence
   -- A discarded message is not expected.
   AND NOT EXISTS (SELECT FROM audit_fact
                    WHERE action = 'inbox.discard' AND subject_id = consumed.message_id::text);
