-- The messages about these aggregates ($1) that the consumer ($2) has entered, the parked ones included.
-- Databases: orders, inventory, payments.
SELECT message_id, source, sequence, processed_at
  FROM inbox_message
 WHERE aggregate_id = ANY ($1) AND consumer = $2
 ORDER BY processed_at, sequence;
