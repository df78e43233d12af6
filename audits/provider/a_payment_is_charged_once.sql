-- Promise 4: at most one capture for each payment, whatever anybody retries.
-- Database: provider (the processor's own books).
--
-- payments names each of its payments in the metadata; nothing in these books keeps it from charging one twice.
SELECT format('payment %s was charged %s times: %s', intent.metadata ->> 'reference', count(*),
              string_agg(charge.id, ', ' ORDER BY charge.id)) AS violation
  FROM charge
  JOIN payment_intent AS intent ON intent.id = charge.payment_intent
 WHERE charge.amount_captured > 0
 GROUP BY intent.metadata ->> 'reference'
HAVING count(*) > 1;
