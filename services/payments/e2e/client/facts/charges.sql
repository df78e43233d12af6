-- Every charge of a card, with its payment.
-- Database: provider (the processor's own books).
--
-- payments names its deployment in the metadata. Without one, the charge is of another program of the account.
SELECT charge.id, intent.metadata ->> 'reference' AS payment, charge.amount, charge.amount_refunded AS refunded,
       upper(charge.currency) AS currency, charge.status = 'succeeded' AS succeeded
  FROM charge
  JOIN payment_intent AS intent ON intent.id = charge.payment_intent
 WHERE intent.metadata ? 'deployment';
