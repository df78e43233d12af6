-- The partitions where the consumer ($1) waits for an operator now.
-- Databases: orders, inventory, payments.
SELECT topic, partition, cause, error
  FROM inbox_stopped_partition
 WHERE consumer = $1 AND seen_at > clock_timestamp() - interval '1 minute';
