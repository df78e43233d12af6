-- Promises 6 and 7: an aggregate announces each type of event once, however often the cause was delivered.
-- Databases: of each service.
--
-- Exceptions: an item changes often, and a payment can be refunded in parts, and each part can fail.
SELECT format('%s was announced %s times for %s %s', type, count(*), aggregate_type, aggregate_id) AS violation
  FROM outbox_event
 WHERE type NOT IN ('inventory.ItemChanged.v1', 'payments.PaymentRefunded.v1', 'payments.PaymentRefundFailed.v1')
 GROUP BY type, aggregate_type, aggregate_id
HAVING count(*) > 1;
