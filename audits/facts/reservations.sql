-- What orders were promised, and whether it has left.
-- Database: inventory.
SELECT order_id, tenant_id, state FROM reservation;
