-- Promise 7: nothing happens twice to the same thing, however often the cause was delivered.
-- Databases: orders, payments, inventory.
--
-- An item may change often, and a payment may be refunded in parts.
SELECT format('%s was told %s times about %s %s', type, count(*), aggregate_type, aggregate_id) AS violation
  FROM outbox_event
 WHERE type NOT IN ('inventory.ItemChanged.v1', 'payments.PaymentRefunded.v1')
 GROUP BY type, aggregate_type, aggregate_id
HAVING count(*) > 1;
