-- Every payment with its state in our books, and what clients asked to be refunded: for certain, and at most.
-- Database: payments.
SELECT payment.id, payment.tenant_id, payment.order_id, payment.amount, payment.currency, payment.state,
       coalesce(asked.refunded, 0)::bigint AS refunded, coalesce(asked.refundable, 0)::bigint AS refundable
  FROM payment
  LEFT JOIN (SELECT payment_id, sum(amount) AS refundable, sum(amount) FILTER (WHERE state = 'succeeded') AS refunded
               FROM refund
              WHERE cause = 'requested' AND state <> 'failed'
              GROUP BY payment_id) AS asked ON asked.payment_id = payment.id;
