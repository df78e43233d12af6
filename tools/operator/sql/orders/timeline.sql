-- The timeline of the order ($1).
-- Database: orders.
SELECT what, state, cause_kind, cause_id, cause_by, at
  FROM order_timeline
 WHERE order_id = $1
 ORDER BY id;
