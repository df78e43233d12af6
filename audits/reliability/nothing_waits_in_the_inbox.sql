-- Promises 8 and 12: once faults have ended, no message is parked, and none is held for longer than a minute.
-- Databases: of each service.
SELECT format('%s keeps message %s of %s (%s %s, number %s) since %s: %s', consumer, message_id, topic, source,
              aggregate_id, sequence, parked_at, coalesce(error, state)) AS violation
  FROM inbox_parked
 WHERE state = 'parked' OR parked_at + interval '1 minute' < clock_timestamp();
