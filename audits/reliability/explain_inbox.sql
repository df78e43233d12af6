-- Explains the messages about these aggregates ($1) in the inbox of the service ($2): entered, and waiting (parked, or held behind another
-- one).
-- Databases: of each service.
WITH waiting AS (
    SELECT inbox_parked.*, coalesce(nullif(split_part(kind, '.', 2), ''), 'message') AS name
      FROM inbox_parked
     CROSS JOIN LATERAL (SELECT (SELECT pair ->> 1
                                   FROM jsonb_array_elements(CASE jsonb_typeof(headers) WHEN 'array' THEN headers ELSE '[]' END) AS pair
                                  WHERE pair ->> 0 = 'ce_type' LIMIT 1)) AS type (kind)
     WHERE consumer = $2 AND aggregate_id = ANY ($1)
)
(SELECT processed_at AS at, 'inbox' AS step, format('of %s entered, sequence %s', source, sequence) AS text,
        jsonb_build_object('message', message_id) AS detail
   FROM inbox_message AS entered
  WHERE aggregate_id = ANY ($1) AND consumer = $2
    AND NOT EXISTS (SELECT FROM waiting WHERE waiting.message_id = entered.message_id)
  ORDER BY processed_at, sequence)
UNION ALL
(SELECT parked_at, 'waiting',
        concat(name, ' (message ', message_id, ') of ', source, ' ', state, ', sequence ', sequence, ', ', topic, '/', partition,
               ' at offset ', record_offset, ': ' || error),
        jsonb_build_object('message', message_id) || CASE state
            WHEN 'parked' THEN jsonb_build_object(
                'obstacle', format('parked: %s could not apply %s (message %s): %s', $2, name, message_id, coalesce(error, 'without an error')),
                'is_urgent', true,
                'cure', format('remove the cause, then ./dev run %s inbox redrive %s --by NAME --reason TEXT', $2, message_id))
            ELSE jsonb_build_object(
                'obstacle', format('%s holds %s (message %s) until an earlier message of %s arrives', $2, name, message_id, source),
                'is_urgent', parked_at + interval '1 minute' < clock_timestamp()
                             AND NOT bool_or(state = 'parked') OVER (PARTITION BY source, aggregate_id),
                'cure', format('./dev run %s outbox republish --aggregate %s --by NAME --reason TEXT', source, aggregate_id))
        END
   FROM waiting
  ORDER BY sequence);
