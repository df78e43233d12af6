-- The messages about these aggregates ($1) that wait in the inbox of the consumer ($2): parked, or held behind another one.
-- Databases: orders, inventory, payments.
SELECT message_id, source, sequence, state, topic, partition, record_offset, error, parked_at,
       (SELECT pair ->> 1
          FROM jsonb_array_elements(CASE jsonb_typeof(headers) WHEN 'array' THEN headers ELSE '[]' END) AS pair
         WHERE pair ->> 0 = 'ce_type' LIMIT 1) AS kind
  FROM inbox_parked
 WHERE consumer = $2 AND aggregate_id = ANY ($1)
 ORDER BY sequence;
