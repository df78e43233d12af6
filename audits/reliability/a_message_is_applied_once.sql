-- Promise 7: a consumer has applied each message of an aggregate once, up to the last applied sequence.
-- Databases: of each service.
--
-- Held and parked messages are entered but not applied. Old entries may have been trimmed. Sequence 0 marks a message
-- without a readable sequence.
SELECT format('%s has applied %s %s up to %s, but has entered %s messages, numbered from %s to %s',
              applied.consumer, applied.source, applied.aggregate_id, applied.last_sequence,
              count(*), min(entry.sequence), max(entry.sequence)) AS violation
  FROM inbox_sequence AS applied
  JOIN inbox_message AS entry USING (consumer, source, aggregate_id)
  LEFT JOIN inbox_parked AS waiting USING (consumer, message_id)
 WHERE waiting.message_id IS NULL
   AND entry.sequence > 0
 GROUP BY applied.consumer, applied.source, applied.aggregate_id, applied.last_sequence
HAVING max(entry.sequence) <> applied.last_sequence
    OR count(*) <> max(entry.sequence) - min(entry.sequence) + 1;
