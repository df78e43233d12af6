-- Money that is to be collected, and how far that has come.
CREATE TABLE payment (
    id               uuid        PRIMARY KEY,
    tenant_id        text        NOT NULL,
    -- At most one payment for an order, whatever is delivered or retried. Unique over tenants.
    order_id         uuid        UNIQUE,
    amount           bigint      NOT NULL CHECK (amount BETWEEN 1 AND 1000000000000),
    currency         text        NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    -- The processor's token of a card, never a card.
    payment_method   text        NOT NULL,
    state            text        NOT NULL DEFAULT 'requested'
        CHECK (state IN ('requested', 'capturing', 'captured', 'declined', 'unknown', 'cancelled')),
    -- The order was cancelled: whoever records a capture now also refunds it.
    cancel_requested boolean     NOT NULL DEFAULT false,
    decline_code     text,
    -- The processor's names of what it did. Two payments never share one capture.
    processor_intent text        UNIQUE,
    processor_charge text,
    -- What refunds that did not fail have claimed.
    refund_reserved  bigint      NOT NULL DEFAULT 0,
    -- No first attempt starts after this.
    expires_at       timestamptz NOT NULL,
    -- How many events this payment has told.
    sequence         bigint      NOT NULL DEFAULT 0 CHECK (sequence >= 0),
    created_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT captured_has_proof CHECK (state <> 'captured' OR processor_intent IS NOT NULL),
    CONSTRAINT declined_has_code CHECK ((state = 'declined') = (decline_code IS NOT NULL)),
    -- The last guard; the row lock under which refunds are claimed is the first.
    CONSTRAINT refunds_within_capture
        CHECK (refund_reserved BETWEEN 0 AND CASE state WHEN 'captured' THEN amount ELSE 0 END)
);
CREATE INDEX payment_list ON payment (tenant_id, id DESC);

-- Money that is to be given back.
CREATE TABLE refund (
    id               uuid        PRIMARY KEY,
    tenant_id        text        NOT NULL,
    payment_id       uuid        NOT NULL REFERENCES payment (id),
    -- 'order_cancelled': the automatic one. At most one refund for each cause.
    cause            text        NOT NULL,
    amount           bigint      NOT NULL CHECK (amount > 0),
    state            text        NOT NULL DEFAULT 'pending'
        CHECK (state IN ('pending', 'succeeded', 'failed', 'unknown')),
    failure_code     text,
    processor_refund text        UNIQUE,
    created_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (payment_id, cause),
    CONSTRAINT succeeded_has_proof CHECK (state <> 'succeeded' OR processor_refund IS NOT NULL),
    CONSTRAINT failed_has_code CHECK ((state = 'failed') = (failure_code IS NOT NULL))
);

-- What is to be asked of the processor: written with the wish, before any call, and never changed. The worker asks.
CREATE TABLE intent (
    -- The payment's or the refund's own id.
    id           uuid        PRIMARY KEY,
    tenant_id    text        NOT NULL,
    kind         text        NOT NULL CHECK (kind IN ('charge', 'refund')),
    payment_id   uuid        NOT NULL REFERENCES payment (id),
    -- The same for each attempt: the processor carries it out once.
    provider_key text        NOT NULL UNIQUE,
    -- The exact body; a retry sends these bytes, whatever the program would write today.
    request      bytea       NOT NULL,
    -- Raised by each attempt. A worker that comes back with an older number has been replaced.
    attempt      integer     NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    -- A worker is asking; due_at is the end of its lease.
    in_flight    boolean     NOT NULL DEFAULT false,
    -- When a worker takes it next; null: nothing is to be asked.
    due_at       timestamptz DEFAULT clock_timestamp(),
    -- When the first attempt began that may have reached the processor: the life of its key counts from here.
    sent_since   timestamptz,
    -- What the latest attempt showed, for people.
    last_outcome text,
    -- Trace context of the message that wanted it.
    traceparent  text,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT charge_is_its_payments CHECK (kind <> 'charge' OR id = payment_id),
    CONSTRAINT lease_has_an_end CHECK (NOT in_flight OR due_at IS NOT NULL)
);
CREATE INDEX intent_due ON intent (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX intent_payment ON intent (payment_id);

GRANT SELECT, INSERT, UPDATE ON payment, refund TO idem_service;
-- Key and request cannot be changed by the service, not even by mistake.
GRANT SELECT, INSERT ON intent TO idem_service;
GRANT UPDATE (attempt, in_flight, due_at, sent_since, last_outcome) ON intent TO idem_service;
