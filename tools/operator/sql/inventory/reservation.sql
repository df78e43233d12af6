-- The reservation of the order ($1).
-- Database: inventory.
SELECT state, created_at, updated_at,
       (SELECT string_agg(format('%s × %s', quantity, sku), ', ' ORDER BY sku)
          FROM reservation_line AS line WHERE line.order_id = reservation.order_id) AS contents
  FROM reservation
 WHERE order_id = $1;
