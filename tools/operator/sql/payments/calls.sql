-- The processor calls of these payments and refunds ($1).
-- Database: payments.
SELECT id, kind, attempt, in_flight, due_at, mode, look_ups, sent_since, last_sent_at, last_outcome, processor_object, created_at
  FROM processor_call
 WHERE id = ANY ($1)
 ORDER BY created_at;
