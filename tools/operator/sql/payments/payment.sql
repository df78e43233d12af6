-- The payment of the order ($1).
-- Database: payments.
SELECT id, amount, currency, state, cancel_requested, decline_code, processor_intent, sequence, created_at, updated_at
  FROM payment
 WHERE order_id = $1;
