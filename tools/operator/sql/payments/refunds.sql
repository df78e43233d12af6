-- The refunds of the payment ($1).
-- Database: payments.
SELECT id, cause, amount, state, failure_code, processor_refund, operation_id, created_at, updated_at
  FROM refund
 WHERE payment_id = $1
 ORDER BY created_at;
