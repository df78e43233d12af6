-- Every order, and what it costs.
-- Database: orders.
SELECT id, tenant_id, state, amount, currency, payment_id FROM orders;
