-- The movements of stock for the order ($1).
-- Database: inventory.
SELECT line.sku, movement.delta, movement.moved_at
  FROM stock_movement AS movement
  JOIN reservation_line AS line ON line.order_id = movement.order_id AND line.item_id = movement.item_id
 WHERE movement.order_id = $1
 ORDER BY line.sku;
