-- Promise 6: what was committed is published; here: every end of a charge and of a refund is one event.
-- Database: provider (the processor's own books).
--
-- Only of what was made since there are events: the older has none, and is older than the first.
WITH first AS (SELECT coalesce(min(created), unix_now() + 1) AS event FROM event),
ended AS (
    SELECT id, 'payment_intent.succeeded' AS type FROM payment_intent, first
     WHERE status = 'succeeded' AND created >= first.event
     UNION ALL
    SELECT id, 'refund.created' FROM refund, first WHERE created >= first.event
     UNION ALL
    SELECT id, 'refund.failed' FROM refund, first WHERE status = 'failed' AND created >= first.event
)
SELECT format('%s of %s was told %s times', ended.type, ended.id, count(event.id)) AS violation
  FROM ended
  LEFT JOIN event ON event.type = ended.type AND event.object ->> 'id' = ended.id
 GROUP BY ended.id, ended.type
HAVING count(event.id) <> 1;
