-- Every reservation with its state.
-- Database: inventory.
SELECT order_id, tenant_id, state FROM reservation;
