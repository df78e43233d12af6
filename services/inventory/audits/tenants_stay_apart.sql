-- Promise 10: reservations and movements have the tenant of their item.
-- Database: inventory.
SELECT format('order %s of %s has a line of %s for an item of %s', line.order_id, reservation.tenant_id,
              line.tenant_id, item.tenant_id) AS violation
  FROM reservation_line AS line
  JOIN reservation USING (order_id)
  JOIN item ON item.id = line.item_id
 WHERE line.tenant_id <> reservation.tenant_id OR line.tenant_id <> item.tenant_id
UNION ALL
SELECT format('item %s of %s was moved by %s', item.sku, item.tenant_id, movement.tenant_id)
  FROM stock_movement AS movement
  JOIN item ON item.id = movement.item_id
 WHERE movement.tenant_id <> item.tenant_id;
