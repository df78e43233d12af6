-- Every payment, as payments believes it to be.
-- Database: payments.
SELECT id, tenant_id, order_id, amount, currency, state FROM payment;
