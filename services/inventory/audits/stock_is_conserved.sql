-- Promise 5: stock is conserved and never negative.
-- Database: inventory.
--
-- on_hand equals the sum of all movements. reserved equals the sum of the held reservations.
WITH moved AS (
    SELECT item_id, sum(delta) AS on_hand FROM stock_movement GROUP BY item_id
), held AS (
    SELECT line.item_id, sum(line.quantity) AS reserved
      FROM reservation_line AS line
      JOIN reservation USING (order_id)
     WHERE reservation.state = 'held'
     GROUP BY line.item_id
)
SELECT format('%s of %s: on hand %s, but moved %s; reserved %s, but held %s', item.sku, item.tenant_id,
              item.on_hand, coalesce(moved.on_hand, 0), item.reserved, coalesce(held.reserved, 0)) AS violation
  FROM item
  LEFT JOIN moved ON moved.item_id = item.id
  LEFT JOIN held ON held.item_id = item.id
 WHERE item.on_hand <> coalesce(moved.on_hand, 0)
    OR item.reserved <> coalesce(held.reserved, 0)
    OR item.on_hand < 0
    OR item.reserved < 0
    OR item.reserved > item.on_hand;
