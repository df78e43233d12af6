-- The stock of each item of these tenants: on hand, reserved, adjusted, shipped.
-- Database: inventory.
SELECT item.sku, item.on_hand, item.reserved,
       coalesce(sum(movement.delta) FILTER (WHERE movement.kind = 'adjustment'), 0)::bigint AS adjusted,
       coalesce(-sum(movement.delta) FILTER (WHERE movement.kind = 'shipment'), 0)::bigint AS shipped
  FROM item
  LEFT JOIN stock_movement AS movement ON movement.item_id = item.id
 WHERE item.tenant_id = ANY ($1)
 GROUP BY item.id
 ORDER BY item.sku;
