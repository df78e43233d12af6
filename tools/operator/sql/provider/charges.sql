-- The processor's own record of the PaymentIntent ($1) and its charges.
-- Database: provider (the processor's own books).
SELECT intent.id AS intent, intent.status, charge.id AS charge, charge.amount_captured, charge.amount_refunded,
       upper(intent.currency) AS currency, to_timestamp(coalesce(charge.created, intent.created)) AS created
  FROM payment_intent AS intent
  LEFT JOIN charge ON charge.payment_intent = intent.id
 WHERE intent.id = $1
 ORDER BY created;
