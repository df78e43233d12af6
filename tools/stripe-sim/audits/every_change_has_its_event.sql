-- Promise 6: every end of a charge or refund has one event.
-- Database: provider (the processor's own books).
--
-- Objects that are older than the first event have none, and are left out.
WITH first AS (SELECT coalesce(min(created), unix_now() + 1) AS event FROM event),
ended AS (
    SELECT id, 'payment_intent.succeeded' AS type FROM payment_intent, first
     WHERE status = 'succeeded' AND created >= first.event
     UNION ALL
    SELECT id, 'refund.created' FROM refund, first WHERE created >= first.event
     UNION ALL
    SELECT id, 'refund.failed' FROM refund, first WHERE status = 'failed' AND created >= first.event
)
SELECT format('%s of %s has %s events', ended.type, ended.id, count(event.id)) AS violation
  FROM ended
  LEFT JOIN event ON event.type = ended.type AND event.object ->> 'id' = ended.id
 GROUP BY ended.id, ended.type
HAVING count(event.id) <> 1;
