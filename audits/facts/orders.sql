-- Every order with its state and total.
-- Database: orders.
SELECT id, tenant_id, state, amount, currency, payment_id FROM orders;
