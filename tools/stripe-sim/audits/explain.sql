-- Explains the PaymentIntent ($1), whose first attempt began at $2 and whose last one began at $3: its charges and refunds.
-- Database: provider (the processor's own books).
--
-- The processor's times are whole seconds. An object is dated not before the last attempt of its second, and never before the first one.
WITH object (created, text) AS (
    SELECT to_timestamp(coalesce(charge.created, intent.created)),
           format('%s is %s: %s, {%s %s} captured, {%s %s} refunded', intent.id, intent.status, coalesce(charge.id, 'no charge'),
                  coalesce(amount_captured, 0), upper(intent.currency), coalesce(amount_refunded, 0), upper(intent.currency))
      FROM payment_intent AS intent
      LEFT JOIN charge ON charge.payment_intent = intent.id
     WHERE intent.id = $1
    UNION ALL
    SELECT to_timestamp(created),
           concat('refund ', id, ' of {', amount, ' ', upper(currency), '} is ', status, ': ' || failure_reason)
      FROM refund
     WHERE payment_intent = $1
)
SELECT greatest(created, CASE WHEN $3 < created + interval '1 second' THEN $3 ELSE $2 END) AS at,
       'processor' AS step, text, NULL::jsonb AS detail
  FROM object;
