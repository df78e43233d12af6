-- Promise 4: no refund beyond what was captured.
-- Database: provider (the processor's own books).
SELECT format('charge %s of %s: %s refunded, %s noted', charge.id, charge.amount, coalesce(sum(refund.amount), 0),
              charge.amount_refunded) AS violation
  FROM charge
  LEFT JOIN refund ON refund.charge = charge.id
 GROUP BY charge.id
HAVING coalesce(sum(refund.amount), 0) <> charge.amount_refunded
    OR coalesce(sum(refund.amount), 0) > CASE charge.status WHEN 'succeeded' THEN charge.amount ELSE 0 END;
