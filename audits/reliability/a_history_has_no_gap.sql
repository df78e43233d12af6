-- Promises 6 and 7: the events of an aggregate are numbered 1, 2, 3 and so on, each number once.
-- Databases: of each service.
--
-- Retention has dropped the events of whole days. A number may be missing only if such a day is between its neighbours.
WITH numbered AS (
    SELECT aggregate_type, aggregate_id, sequence, (created_at AT TIME ZONE 'UTC')::date AS day,
           lag(sequence) OVER history AS before, lag((created_at AT TIME ZONE 'UTC')::date) OVER history AS day_before
      FROM outbox_event
    WINDOW history AS (PARTITION BY aggregate_type, aggregate_id ORDER BY sequence, id)
)
SELECT format('%s %s has event number %s after %s', aggregate_type, aggregate_id, sequence,
              coalesce('number ' || before, 'none')) AS violation
  FROM numbered
 WHERE sequence <> coalesce(before, 0) + 1
   AND (sequence = before
        OR NOT EXISTS (SELECT FROM outbox_dropped_day AS dropped
                        WHERE dropped.day <= numbered.day AND (day_before IS NULL OR dropped.day >= day_before)));
