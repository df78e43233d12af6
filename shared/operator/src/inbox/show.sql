-- The content of one waiting message, and the sequence of its aggregate's next message. `show.rs` fills in payload_text.
SELECT row_to_json(content)::text AS row
  FROM (SELECT 1 + coalesce((SELECT last_sequence FROM inbox_sequence
                              WHERE (consumer, source, aggregate_id) = (parked.consumer, parked.source, parked.aggregate_id)), 0)
                   AS next_sequence,
               headers,
               octet_length(payload) AS payload_bytes,
               encode(sha256(payload), 'hex') AS payload_sha256,
               NULL AS payload_text,
               translate(encode(payload, 'base64'), E'\n', '') AS payload_base64
          FROM inbox_parked AS parked
         WHERE consumer = $1 ->> 'consumer' AND message_id = ($1 ->> 'message')::uuid) AS content
