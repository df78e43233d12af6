-- Every payment with its state in our books.
-- Database: payments.
SELECT id, tenant_id, order_id, amount, currency, state FROM payment;
