-- Lookups: reading at the processor whether an earlier request took effect.
ALTER TABLE processor_call
    -- What the worker does when the call is due: send the request, or look up its effect.
    ADD COLUMN mode text NOT NULL DEFAULT 'request' CHECK (mode IN ('request', 'look_up')),
    -- Consecutive lookups that found nothing.
    ADD COLUMN look_ups integer NOT NULL DEFAULT 0 CHECK (look_ups >= 0),
    -- The processor's id of the PaymentIntent or refund, once a response or a webhook has named it.
    ADD COLUMN processor_object text,
    -- A webhook or the reconciliation requested one lookup. If a worker is busy with the call, it is looked up at once
    -- afterwards, because the worker's response may be older than the reason for the lookup.
    ADD COLUMN look_up_requested boolean NOT NULL DEFAULT false,
    -- When the latest request was sent. The requests of a call were sent between sent_since and this time.
    ADD COLUMN last_sent_at timestamptz,
    -- When a response or a lookup last named the object. A refund can be pending at the processor for days.
    ADD COLUMN found_at timestamptz,
    -- Lookups have workers of their own, so that no charge waits behind them.
    ADD COLUMN needs_look_up boolean NOT NULL GENERATED ALWAYS AS (look_up_requested OR mode = 'look_up') STORED;

DROP INDEX processor_call_due;
CREATE INDEX processor_call_due ON processor_call (needs_look_up, due_at) WHERE due_at IS NOT NULL;

GRANT UPDATE (mode, look_ups, processor_object, look_up_requested, last_sent_at, found_at) ON processor_call TO idem_service;

-- Webhooks and reconciliation find a call by the processor's id of its object.
CREATE INDEX processor_call_object ON processor_call (processor_object) WHERE processor_object IS NOT NULL;
