-- Promise 4: the refunds of a charge never exceed its captured amount.
-- Database: provider (the processor's own books).
--
-- A pending refund counts, because its money is promised. A failed one does not, because its money has come back.
SELECT format('charge %s, %s captured: %s refunded, %s noted', charge.id, charge.amount_captured,
              coalesce(sum(refund.amount), 0), charge.amount_refunded) AS violation
  FROM charge
  LEFT JOIN refund ON refund.charge = charge.id AND refund.status <> 'failed'
 GROUP BY charge.id
HAVING coalesce(sum(refund.amount), 0) <> charge.amount_refunded
    OR coalesce(sum(refund.amount), 0) > charge.amount_captured;
