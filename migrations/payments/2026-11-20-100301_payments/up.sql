-- A payment: money to collect with one charge, and the state of that charge.
CREATE TABLE payment (
    id               uuid        PRIMARY KEY,
    tenant_id        text        NOT NULL,
    -- One payment for each order, across all tenants, however often its message is delivered.
    order_id         uuid        UNIQUE,
    amount           bigint      NOT NULL CHECK (amount BETWEEN 1 AND 1000000000000),
    currency         text        NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    -- The processor's token of a card. Card numbers are never stored.
    payment_method   text        NOT NULL,
    state            text        NOT NULL DEFAULT 'requested'
        CHECK (state IN ('requested', 'capturing', 'captured', 'declined', 'unknown', 'cancelled')),
    -- The order was cancelled. A capture that is recorded after this is refunded in the same transaction.
    cancel_requested boolean     NOT NULL DEFAULT false,
    decline_code     text,
    -- The processor's ids of its PaymentIntent and charge. Two payments never share one PaymentIntent.
    processor_intent text        UNIQUE,
    processor_charge text,
    -- Minor units reserved by all refunds that have not failed.
    refund_reserved  bigint      NOT NULL DEFAULT 0,
    -- No first attempt starts after this time.
    expires_at       timestamptz NOT NULL,
    -- Sequence number of the latest event of this payment.
    sequence         bigint      NOT NULL DEFAULT 0 CHECK (sequence >= 0),
    created_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT captured_has_proof CHECK (state <> 'captured' OR processor_intent IS NOT NULL),
    CONSTRAINT declined_has_code CHECK ((state = 'declined') = (decline_code IS NOT NULL)),
    -- The second guard against refunding too much. The first is the row lock under which refunds reserve their amount.
    CONSTRAINT refunds_within_capture
        CHECK (refund_reserved BETWEEN 0 AND CASE state WHEN 'captured' THEN amount ELSE 0 END)
);
CREATE INDEX payment_list ON payment (tenant_id, id DESC);

-- A refund of a captured payment, in full or in part.
CREATE TABLE refund (
    id               uuid        PRIMARY KEY,
    tenant_id        text        NOT NULL,
    payment_id       uuid        NOT NULL REFERENCES payment (id),
    -- 'order_cancelled': the automatic refund. At most one refund for each cause.
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

-- The processor call of a payment or refund: its idempotency key, its request body, and the state of its attempts.
-- The row is inserted with the payment or refund, before the first request. The worker makes the call.
CREATE TABLE processor_call (
    -- The id of the payment or refund.
    id           uuid        PRIMARY KEY,
    tenant_id    text        NOT NULL,
    kind         text        NOT NULL CHECK (kind IN ('charge', 'refund')),
    payment_id   uuid        NOT NULL REFERENCES payment (id),
    -- The same key for each attempt. Because the key is the same, the processor takes the request once.
    provider_key text        NOT NULL UNIQUE,
    -- The exact request body. A retry sends these bytes, even if a newer release would write other ones.
    request      bytea       NOT NULL,
    -- The fencing token: each attempt and each lookup raises it. A worker with an older number has been replaced.
    attempt      integer     NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    -- A worker holds the lease; due_at is the end of the lease.
    in_flight    boolean     NOT NULL DEFAULT false,
    -- When a worker takes the call next; null: nothing is left to do.
    due_at       timestamptz DEFAULT clock_timestamp(),
    -- Start of the first attempt that may have reached the processor. The lifetime of the key counts from here.
    sent_since   timestamptz,
    -- Outcome of the latest attempt or lookup, as text for operators.
    last_outcome text,
    -- Trace context of the message or request that created the call.
    traceparent  text,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT charge_is_its_payments CHECK (kind <> 'charge' OR id = payment_id),
    CONSTRAINT lease_has_an_end CHECK (NOT in_flight OR due_at IS NOT NULL)
);
CREATE INDEX processor_call_due ON processor_call (due_at) WHERE due_at IS NOT NULL;

GRANT SELECT, INSERT, UPDATE ON payment, refund TO idem_service;
-- The service cannot change a stored key or request body. Otherwise a mistake in the program could charge twice.
GRANT SELECT, INSERT ON processor_call TO idem_service;
GRANT UPDATE (attempt, in_flight, due_at, sent_since, last_outcome) ON processor_call TO idem_service;
