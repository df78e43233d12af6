-- Promises 4 and 9: each payment or refund has one processor call, with one key, and one audit fact.
-- Database: payments.
WITH wish AS (
    SELECT id, 'charge' AS kind, 'payment.charge' AS action FROM payment
    UNION ALL
    SELECT id, 'refund', 'payment.refund' FROM refund
)
SELECT format('%s %s has %s intents and %s facts', wish.kind, wish.id, intents.number, facts.number) AS violation
  FROM wish
  CROSS JOIN LATERAL (
      SELECT count(*) AS number FROM intent WHERE intent.id = wish.id AND intent.kind = wish.kind) AS intents
  CROSS JOIN LATERAL (
      SELECT count(*) AS number FROM audit_fact WHERE action = wish.action AND subject_id = wish.id::text) AS facts
 WHERE intents.number <> 1 OR facts.number <> 1;
