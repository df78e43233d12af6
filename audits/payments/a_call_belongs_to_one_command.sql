-- Promises 4 and 9: each payment or refund has one processor call, with one key, and one audit fact.
-- Database: payments.
WITH request AS (
    SELECT id, 'charge' AS kind, 'payment.charge' AS action FROM payment
    UNION ALL
    SELECT id, 'refund', 'payment.refund' FROM refund
)
SELECT format('%s %s has %s processor calls and %s facts', request.kind, request.id, calls.number, facts.number) AS violation
  FROM request
  CROSS JOIN LATERAL (
      SELECT count(*) AS number FROM processor_call AS call
       WHERE call.id = request.id AND call.kind = request.kind) AS calls
  CROSS JOIN LATERAL (
      SELECT count(*) AS number FROM audit_fact WHERE action = request.action AND subject_id = request.id::text) AS facts
 WHERE calls.number <> 1 OR facts.number <> 1;
