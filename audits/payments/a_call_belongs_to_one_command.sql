-- Promises 4 and 9: each payment or refund has one processor call, with one key, and one audit fact.
-- Database: payments.
WITH request AS (
    SELECT id, 'charge' AS kind, 'payment.charge' AS action FROM payment
    UNION ALL
    SELECT id, 'refund', 'payment.refund' FROM refund
), facts AS (
    SELECT action, subject_id, count(*) AS number
      FROM audit_fact
     WHERE action IN ('payment.charge', 'payment.refund')
     GROUP BY action, subject_id
)
-- The id of a call is its primary key, so there is at most one.
SELECT format('%s %s has %s processor calls and %s facts', request.kind, request.id, num_nonnulls(call.id),
              coalesce(facts.number, 0)) AS violation
  FROM request
  LEFT JOIN processor_call AS call ON call.id = request.id AND call.kind = request.kind
  LEFT JOIN facts ON facts.action = request.action AND facts.subject_id = request.id::text
 WHERE call.id IS NULL OR facts.number IS DISTINCT FROM 1;
