-- Explains the order ($1): its parcel.
-- Database: parcels.
SELECT created_at AS at, 'row' AS step, 'parcel: open' AS text, jsonb_build_object('announced', sequence) AS detail
  FROM parcel
 WHERE order_id = $1
UNION ALL
SELECT updated_at, 'row', 'parcel: ' || state, NULL
  FROM parcel
 WHERE order_id = $1 AND state <> 'open';
