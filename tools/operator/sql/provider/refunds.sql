-- The processor's own record of the refunds of the PaymentIntent ($1).
-- Database: provider (the processor's own books).
SELECT id, status, amount, upper(currency) AS currency, failure_reason, to_timestamp(created) AS created
  FROM refund
 WHERE payment_intent = $1
 ORDER BY position;
