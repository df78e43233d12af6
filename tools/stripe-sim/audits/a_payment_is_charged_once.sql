-- Promise 4: each payment has at most one capture, however often requests are retried.
-- Database: provider (the processor's own books).
--
-- payments names its payment and its deployment in the metadata. Without a deployment, the charge is of another program of the
-- account. No constraint of this database prevents a second charge for a payment.
SELECT format('payment %s was charged %s times: %s', intent.metadata ->> 'reference', count(*),
              string_agg(charge.id, ', ' ORDER BY charge.id)) AS violation
  FROM charge
  JOIN payment_intent AS intent ON intent.id = charge.payment_intent
 WHERE charge.amount_captured > 0
   AND intent.metadata ? 'deployment'
 GROUP BY intent.metadata ->> 'reference'
HAVING count(*) > 1;
