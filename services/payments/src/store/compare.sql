-- Compares a page of the processor's list with our records: one FULL JOIN of the objects of the page, and of the records that
-- they are about or that were sent in the page's window. Each row is a JSON object: verdict, theirs, ours.
--
-- $1 'charge' or 'refund'                  $5, $6 the compared period: requests that were first sent in it
-- $2 the page: a JSON array of objects     $7, $8 the window of the page, a part of the period
-- $3 the name of our deployment            $9 objects that were created after this time may be unknown here
-- $4 the charges without a record
WITH theirs AS (
    SELECT $1 AS kind,
           id AS processor_id,
           coalesce(metadata ->> 'deployment' = $3, false) AS is_tagged,
           -- A tagged object with another reference than an id has no record here.
           CASE WHEN metadata ->> 'deployment' = $3 AND pg_input_is_valid(metadata ->> 'reference', 'uuid')
                THEN (metadata ->> 'reference')::uuid END AS reference,
           payment_intent,
           CASE status WHEN 'succeeded' THEN coalesce(amount_received, amount) ELSE amount END AS amount,
           upper(currency) AS currency,
           -- An object whose money is 'not_moved' will never move it. An unknown status is open.
           CASE WHEN status = 'succeeded' THEN 'moved'
                WHEN status = 'canceled' THEN 'not_moved'
                WHEN $1 = 'charge' AND status IN ('requires_payment_method', 'requires_confirmation') THEN 'not_moved'
                WHEN $1 = 'refund' AND status = 'failed' THEN 'not_moved'
                ELSE 'open' END AS money,
           created
      FROM jsonb_to_recordset($2) AS object (id text, metadata jsonb, payment_intent text, amount bigint,
                                             amount_received bigint, currency text, status text, created timestamptz)
),
-- The records that the page is about, and those that were sent in its window. Arrays, because one index scan finds them all.
candidate (id) AS (
    SELECT reference FROM theirs
    UNION
    SELECT id FROM processor_call WHERE processor_object = ANY (ARRAY(SELECT processor_id FROM theirs))
    UNION
    SELECT id FROM payment WHERE $1 = 'charge' AND processor_intent = ANY (ARRAY(SELECT processor_id FROM theirs))
    UNION
    SELECT id FROM refund WHERE $1 = 'refund' AND processor_refund = ANY (ARRAY(SELECT processor_id FROM theirs))
    UNION
    SELECT id FROM processor_call WHERE kind = $1 AND sent_since >= $7 AND sent_since < $8
),
record AS (
    SELECT call.id,
           call.payment_id,
           call.tenant_id,
           coalesce(refund.amount, payment.amount) AS amount,
           payment.currency,
           coalesce(refund.state, payment.state) AS state,
           CASE WHEN coalesce(refund.state, payment.state) IN ('captured', 'succeeded') THEN 'moved'
                WHEN coalesce(refund.state, payment.state) IN ('declined', 'cancelled', 'failed') THEN 'not_moved'
                ELSE 'open' END AS money,
           coalesce(refund.updated_at, payment.updated_at) AS updated_at,
           coalesce(CASE $1 WHEN 'charge' THEN payment.processor_intent ELSE refund.processor_refund END,
                    call.processor_object) AS processor_id,
           call.in_flight,
           call.sent_since
      FROM processor_call AS call
      JOIN payment ON payment.id = call.payment_id
      LEFT JOIN refund ON refund.id = call.id AND $1 = 'refund'
     WHERE call.kind = $1 AND call.id = ANY (ARRAY(SELECT id FROM candidate))
),
ours AS (
    SELECT id, payment_id, tenant_id, amount, currency, processor_id, money,
           -- The first attempt has not ended yet.
           state = 'capturing' OR (state = 'pending' AND in_flight) AS in_flight,
           coalesce(sent_since >= $7 AND sent_since < $8, false) AS is_in_window,
           -- The processor must list an object, unless the record has changed since the list was read.
           coalesce(sent_since >= $5 AND sent_since < $6, false)
               AND (money = 'open' OR (money = 'moved' AND updated_at < $6)) AS needs_object
      FROM record
),
-- The record of each object: the one that its tag names, or the one that knows its id. A second object that moved money for
-- the same record has none: it is an orphan.
paired AS (
    SELECT theirs.*,
           theirs.money = 'not_moved' AS is_without_effect,
           CASE WHEN named.processor_id <> theirs.processor_id AND theirs.money <> 'not_moved' THEN NULL
                ELSE coalesce(named.id, known.id) END AS our_id
      FROM theirs
      LEFT JOIN ours AS named ON named.id = theirs.reference
      LEFT JOIN ours AS known ON known.processor_id = theirs.processor_id AND named.id IS NULL
)
SELECT json_build_object('verdict', CASE
    -- Only we have it.
    WHEN theirs.processor_id IS NULL THEN
        CASE WHEN ours.money = 'moved' THEN 'missing_there'
             WHEN ours.in_flight THEN 'pending'
             ELSE 'unsettled' END
    -- Only the processor has it.
    WHEN ours.id IS NULL THEN
        CASE WHEN theirs.payment_intent = ANY ($4) THEN 'matched' -- the verdict about the charge covers its refunds
             WHEN NOT theirs.is_tagged
              -- A refund without our tag is ours if its charge is.
              AND NOT EXISTS (SELECT FROM payment WHERE processor_intent = theirs.payment_intent)
              AND NOT EXISTS (SELECT FROM processor_call
                               WHERE processor_object = theirs.payment_intent AND kind = 'charge') THEN 'foreign'
             WHEN theirs.money = 'not_moved' THEN 'matched'
             WHEN theirs.money = 'moved' AND theirs.created <= $9 THEN 'missing_here'
             ELSE 'young' END
    -- An attempt without effect, beside the attempt that counts.
    WHEN theirs.money = 'not_moved' AND ours.processor_id <> theirs.processor_id THEN 'matched'
    WHEN ours.money = 'moved' AND theirs.money = 'moved' THEN
        CASE WHEN (ours.amount, ours.currency) = (theirs.amount, theirs.currency) THEN 'matched'
             ELSE 'amount_differs' END
    WHEN ours.money = 'not_moved' AND theirs.money = 'not_moved' THEN 'matched'
    WHEN ours.in_flight OR (ours.money = 'open' AND theirs.money = 'open') THEN 'pending'
    WHEN ours.money = 'not_moved' AND theirs.money = 'moved' THEN
        CASE WHEN EXISTS (SELECT FROM review
                           WHERE subject = CASE $1 WHEN 'charge' THEN 'payment' ELSE 'refund' END
                             AND subject_id = ours.id::text
                             AND reason = 'contradicted'
                             AND resolution IS NOT NULL) THEN 'accepted'
             ELSE 'denied' END
    -- A refund that succeeded may fail later. A capture may not.
    WHEN ours.money = 'moved' AND theirs.money = 'not_moved' AND $1 = 'charge' THEN 'missing_there'
    -- One side is ahead of the other.
    ELSE 'unsettled' END, 'theirs', theirs, 'ours', ours)::text AS row
  FROM paired AS theirs
  FULL JOIN ours ON ours.id = theirs.our_id
 WHERE theirs.processor_id IS NOT NULL OR (ours.is_in_window AND ours.needs_object)
