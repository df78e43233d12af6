-- The amount that the processor owes for each payment, and its fees, by the processor's own balance. Objects without the name of a
-- deployment are not ours: another program made them in the same account.
-- Database: provider (the processor's own books).
WITH source AS (
    SELECT id, payment_intent FROM charge
    UNION ALL
    SELECT id, payment_intent FROM refund
)
SELECT intent.metadata ->> 'reference' AS payment, upper(moved.currency) AS currency,
       sum(moved.net)::bigint AS owed, sum(moved.fee)::bigint AS fees
  FROM balance_transaction AS moved
  JOIN source ON source.id = moved.source
  JOIN payment_intent AS intent ON intent.id = source.payment_intent
 WHERE intent.metadata ->> 'deployment' IS NOT NULL
 GROUP BY intent.metadata ->> 'reference', upper(moved.currency);
