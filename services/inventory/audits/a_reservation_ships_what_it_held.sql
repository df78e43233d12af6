-- Promises 5 and 7: a shipped reservation has moved each of its lines once. Other reservations have moved nothing.
-- Database: inventory.
SELECT format('order %s, %s: reservation %s holds %s, but %s left', line.order_id, line.sku, reservation.state,
              line.quantity, coalesce(-shipment.delta, 0)) AS violation
  FROM reservation
  JOIN reservation_line AS line USING (order_id)
  LEFT JOIN stock_movement AS shipment USING (order_id, item_id)
 WHERE coalesce(-shipment.delta, 0) <> CASE reservation.state WHEN 'shipped' THEN line.quantity ELSE 0 END
UNION ALL
SELECT format('order %s: item %s left without having been reserved', shipment.order_id, shipment.item_id)
  FROM stock_movement AS shipment
  LEFT JOIN reservation_line AS line USING (order_id, item_id)
 WHERE shipment.kind = 'shipment' AND line.order_id IS NULL;
