-- Promises 4 and 9: each payment or refund has one processor call, with one key, and one audit fact.
-- Database: payments.
WITH request AS (
    SELECT id, 'charge' AS kind, 'payment.charge' AS action FROM payment
    UNION ALL
    SELECT id, 'refund', 'payment.refund' FROM refund
)
-- The id of a call is its primary key, so there is at most one.
SELECT format('%s %s has %s processor calls and %s facts', request.kind, request.id, num_nonnulls(call.id),
              count(fact.id)) AS violation
  FROM request
  LEFT JOIN processor_call AS call ON call.id = request.id AND call.kind = request.kind
  LEFT JOIN audit_fact AS fact ON fact.action = request.action AND fact.subject_id = request.id::text
 GROUP BY request.kind, request.id, call.id
HAVING call.id IS NULL OR count(fact.id) <> 1;
