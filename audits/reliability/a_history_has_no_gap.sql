-- Promises 6 and 7: the events of an aggregate are numbered 1, 2, 3 and so on, each number once.
-- Databases: orders, payments, inventory.
SELECT format('%s %s has %s events, numbered from %s to %s, %s of them different',
              aggregate_type, aggregate_id, count(*), min(sequence), max(sequence), count(DISTINCT sequence)) AS violation
  FROM outbox_event
 GROUP BY aggregate_type, aggregate_id
HAVING min(sequence) <> 1 OR max(sequence) <> count(*) OR count(DISTINCT sequence) <> count(*);
