-- The waiting messages of a consumer, and how many are held behind each: all, those of one aggregate, or one.
WITH waiting AS (
    SELECT message_id,
           state,
           (SELECT header ->> 1
              FROM jsonb_array_elements(CASE jsonb_typeof(headers) WHEN 'array' THEN headers ELSE '[]' END)
                   WITH ORDINALITY AS entry (header, number)
             WHERE header ->> 0 = 'ce_type' ORDER BY number DESC LIMIT 1) AS type,
           source,
           aggregate_id,
           sequence,
           topic,
           partition,
           record_offset AS "offset",
           error,
           to_char(parked_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS since,
           count(*) FILTER (WHERE state = 'held') OVER (
               PARTITION BY source, aggregate_id ORDER BY sequence, record_offset
               ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS held_behind
      FROM inbox_parked
     WHERE consumer = $1 ->> 'consumer'
       AND ($1 ->> 'aggregate' IS NULL OR aggregate_id = ($1 ->> 'aggregate')::uuid)
)
SELECT row_to_json(waiting)::text AS row
  FROM waiting
 WHERE $1 ->> 'message' IS NULL OR message_id = ($1 ->> 'message')::uuid
 ORDER BY source, aggregate_id, sequence, "offset"
