-- Promise 5: every capture, refund and returned refund moves the balance once.
-- Database: provider (the processor's own books).
WITH owed AS (
    SELECT id AS source, 'charge' AS type, amount_captured AS amount FROM charge WHERE amount_captured > 0
     UNION ALL
    SELECT id, 'refund', -amount FROM refund WHERE balance_transaction IS NOT NULL OR status = 'succeeded'
     UNION ALL
    SELECT id, 'refund_failure', amount FROM refund WHERE status = 'failed' AND balance_transaction IS NOT NULL
)
SELECT format('%s %s moves %s, and the balance says %s', coalesce(owed.type, moved.type),
              coalesce(owed.source, moved.source), coalesce(owed.amount, 0), coalesce(moved.amount, 0)) AS violation
  FROM owed
  FULL JOIN balance_transaction AS moved ON moved.source = owed.source AND moved.type = owed.type
 WHERE moved.amount IS DISTINCT FROM owed.amount;
