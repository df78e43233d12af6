-- Promise 4: no refund beyond what was captured.
-- Database: provider (the processor's own books).
--
-- A pending refund counts, as its money is promised; a failed one does not, as its money has come back.
SELECT format('charge %s, %s captured: %s refunded, %s noted', charge.id, charge.amount_captured,
              coalesce(sum(refund.amount), 0), charge.amount_refunded) AS violation
  FROM charge
  LEFT JOIN refund ON refund.charge = charge.id AND refund.status <> 'failed'
 GROUP BY charge.id
HAVING coalesce(sum(refund.amount), 0) <> charge.amount_refunded
    OR coalesce(sum(refund.amount), 0) > charge.amount_captured;
