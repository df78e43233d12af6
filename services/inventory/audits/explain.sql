-- Explains the order ($1): its reservation, and the stock that was shipped for it.
-- Database: inventory.
WITH this AS (
    SELECT state, sequence, created_at, updated_at,
           (SELECT string_agg(format('%s × %s', quantity, sku), ', ' ORDER BY sku)
              FROM reservation_line AS line WHERE line.order_id = reservation.order_id) AS contents
      FROM reservation
     WHERE order_id = $1
)
SELECT NULL::timestamptz AS at, 'status' AS step, 'stock ' || state AS text, jsonb_build_object('announced', sequence) AS detail
  FROM this
UNION ALL
SELECT NULL, 'status', 'no stock reserved', NULL
 WHERE NOT EXISTS (SELECT FROM this)
UNION ALL
SELECT created_at, 'row', format('reservation: %s held', contents), NULL
  FROM this
UNION ALL
SELECT updated_at, 'row', format('reservation: %s %s', contents, state), NULL
  FROM this
 WHERE state <> 'held'
UNION ALL
(SELECT movement.moved_at, 'row', format('stock movement: %s × %s', movement.delta, line.sku), NULL
   FROM stock_movement AS movement
   JOIN reservation_line AS line ON line.order_id = movement.order_id AND line.item_id = movement.item_id
  WHERE movement.order_id = $1
  ORDER BY line.sku);
