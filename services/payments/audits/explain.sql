-- Explains the order ($1): its payment with processor calls, refunds, ledger transactions and reviews.
-- Database: payments.
WITH this AS (
    SELECT * FROM payment WHERE order_id = $1
), refunds AS (
    SELECT refund.*, this.currency
      FROM this
      JOIN refund ON refund.payment_id = this.id
), movement (id, is_settled) AS (
    SELECT id, state IN ('captured', 'declined', 'cancelled') FROM this
    UNION ALL
    SELECT id, state IN ('succeeded', 'failed') FROM refunds
), call AS (
    SELECT call.*, movement.is_settled,
           CASE WHEN due_at IS NULL THEN 'finished'
                WHEN in_flight THEN 'an attempt is in progress, its lease ends at '
                ELSE 'due at '
           END || coalesce(to_char(due_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'), '') AS next
      FROM movement
      JOIN processor_call AS call ON call.id = movement.id
), reviews AS (
    SELECT review.*
      FROM movement
      JOIN review ON review.subject_id = movement.id::text
)
SELECT NULL::timestamptz AS at, 'status' AS step,
       CASE state
           WHEN 'captured' THEN concat_ws(', ', '{' || amount || ' ' || currency || '} captured',
                                          '{' || nullif(refunded, 0) || ' ' || currency || '} refunded',
                                          '{' || nullif(under_way, 0) || ' ' || currency || '} being refunded')
           WHEN 'declined' THEN 'card declined, nothing charged'
           WHEN 'cancelled' THEN 'payment cancelled, nothing charged'
           ELSE 'payment ' || state
       END AS text,
       jsonb_build_object('announced', sequence) AS detail
  FROM this,
       (SELECT sum(amount) FILTER (WHERE state = 'succeeded') AS refunded,
               sum(amount) FILTER (WHERE state IN ('pending', 'unknown')) AS under_way
          FROM refunds) AS returned
UNION ALL
SELECT NULL, 'status', 'nothing charged', NULL
 WHERE NOT EXISTS (SELECT FROM this)
UNION ALL
-- The fact of money that a message moves has the id of the payment or refund as its operation.
SELECT created_at, 'row', format('payment %s: {%s %s} requested', id, amount, currency), jsonb_build_object('operation', id)
  FROM this
UNION ALL
SELECT updated_at, 'row',
       concat('payment, last change: ', state, ': ' || decline_code, CASE WHEN cancel_requested THEN '; the order is cancelled' END), NULL
  FROM this
 WHERE updated_at > created_at
UNION ALL
SELECT created_at, 'row', format('refund %s: {%s %s} pending, cause %s', id, amount, currency, cause),
       jsonb_build_object('operation', coalesce(operation_id, id))
  FROM refunds
UNION ALL
SELECT updated_at, 'row', concat('refund ', id, ': ', state, ': ' || failure_code, ', ' || processor_refund), NULL
  FROM refunds
 WHERE state <> 'pending'
UNION ALL
SELECT coalesce(last_sent_at, sent_since, created_at), 'call',
       format('%s: %s attempts, mode %s, %s lookups without a result, last outcome: %s; %s',
              kind, attempt, mode, look_ups, coalesce(last_outcome, 'none yet'), next),
       -- A webhook can request a lookup of a settled charge, which keeps nothing from its end.
       CASE WHEN due_at IS NOT NULL AND NOT is_settled THEN jsonb_build_object('obstacle', concat(
           'the processor has not settled the ', kind, ': ', attempt, ' attempts',
           ', first sent at ' || to_char(sent_since AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'),
           ', last outcome: ', coalesce(last_outcome, 'not sent yet'), '; ', next)) END
  FROM call
UNION ALL
-- The attempts by which the processor's rows are found and dated.
SELECT NULL, 'charge', coalesce(this.processor_intent, call.processor_object),
       jsonb_build_object('charge', jsonb_build_object(
           'first', coalesce(sent_since, call.created_at), 'last', coalesce(last_sent_at, sent_since, call.created_at)))
  FROM this
  JOIN call ON call.id = this.id
 WHERE coalesce(this.processor_intent, call.processor_object) IS NOT NULL
UNION ALL
(SELECT min(posted.recorded_at), 'ledger',
        format('transaction %s, %s: %s', posted.id, min(posted.kind),
               string_agg(format('%s {%s %s}', entry.account, entry.amount, entry.currency), ', ' ORDER BY entry.line)), NULL
   FROM this
   JOIN ledger_transaction AS posted ON posted.payment_id = this.id
   JOIN ledger_entry AS entry ON entry.transaction_id = posted.id
  GROUP BY posted.id
  ORDER BY posted.id)
UNION ALL
SELECT opened_at, 'review', format('review %s of the %s opened: %s', id, subject, reason),
       CASE WHEN resolution IS NULL THEN jsonb_build_object(
           'obstacle', format('a review of the %s is open: %s', subject, reason), 'is_urgent', true,
           'cure', format('./dev run payments review show %s', id)) END
  FROM reviews
UNION ALL
SELECT resolved_at, 'review', format('review %s resolved as %s by %s', id, resolution, resolved_by), NULL
  FROM reviews
 WHERE resolved_at IS NOT NULL;
