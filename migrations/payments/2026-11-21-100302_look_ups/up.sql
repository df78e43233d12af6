-- What cannot be asked any more, or not yet answered, is looked up at the processor.
ALTER TABLE intent
    -- What the next taking does: it sends the request (again), or looks up what became of it.
    ADD COLUMN asks text NOT NULL DEFAULT 'request' CHECK (asks IN ('request', 'look_up')),
    -- Look-ups in a row that found nothing.
    ADD COLUMN look_ups integer NOT NULL DEFAULT 0 CHECK (look_ups >= 0),
    -- The processor's own name of the payment intent or refund, once an answer has named it.
    ADD COLUMN processor_object text,
    -- Somebody wanted a look-up while a worker was asking: the answer on its way may be older than what they know.
    ADD COLUMN woken boolean NOT NULL DEFAULT false;

GRANT UPDATE (asks, look_ups, processor_object, woken) ON intent TO idem_service;

-- Webhooks and reconciliation come with the processor's name of an object.
CREATE INDEX intent_processor_object ON intent (processor_object) WHERE processor_object IS NOT NULL;
