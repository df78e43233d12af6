-- The processor's own books. Times are unix seconds, as its protocol has them, from this database's clock.

CREATE FUNCTION unix_now() RETURNS bigint
    LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN floor(extract(epoch FROM clock_timestamp()))::bigint;

CREATE TABLE payment_intent (
    id                  text PRIMARY KEY CHECK (id LIKE 'pi\_%'),
    -- The order of lists; ids and seconds do not give one.
    position            bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    amount              bigint NOT NULL CHECK (amount BETWEEN 1 AND 1000000000000),
    currency            text   NOT NULL CHECK (currency ~ '^[a-z]{3}$'),
    status              text   NOT NULL
        CHECK (status IN ('requires_payment_method', 'requires_confirmation', 'succeeded', 'canceled')),
    payment_method      text,
    latest_charge       text,
    decline_code        text,
    cancellation_reason text,
    canceled_at         bigint,
    metadata            jsonb  NOT NULL,
    created             bigint NOT NULL DEFAULT unix_now(),
    CHECK ((status = 'canceled') = (canceled_at IS NOT NULL))
);

-- One row for each time that a card was asked for money. Nothing makes an order's charge unique here: a double
-- charge must be possible, so that whoever causes one can be shown it.
CREATE TABLE charge (
    id              text PRIMARY KEY CHECK (id LIKE 'ch\_%'),
    position        bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    payment_intent  text   NOT NULL REFERENCES payment_intent (id),
    amount          bigint NOT NULL CHECK (amount > 0),
    amount_refunded bigint NOT NULL DEFAULT 0,
    currency        text   NOT NULL,
    payment_method  text   NOT NULL,
    status          text   NOT NULL CHECK (status IN ('succeeded', 'failed')),
    created         bigint NOT NULL DEFAULT unix_now(),
    -- The last guard; the row lock under which refunds are counted is the first.
    CONSTRAINT refunds_within_charge CHECK (amount_refunded BETWEEN 0 AND amount),
    CONSTRAINT refunds_of_success    CHECK (status = 'succeeded' OR amount_refunded = 0)
);
CREATE INDEX charge_by_payment_intent ON charge (payment_intent);

CREATE TABLE refund (
    id             text PRIMARY KEY CHECK (id LIKE 're\_%'),
    position       bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    charge         text   NOT NULL REFERENCES charge (id),
    payment_intent text   NOT NULL REFERENCES payment_intent (id),
    amount         bigint NOT NULL CHECK (amount > 0),
    currency       text   NOT NULL,
    status         text   NOT NULL CHECK (status = 'succeeded'),
    reason         text,
    metadata       jsonb  NOT NULL,
    created        bigint NOT NULL DEFAULT unix_now()
);
CREATE INDEX refund_by_payment_intent ON refund (payment_intent, position);

-- The first answer to each Idempotency-Key, committed together with what it answers for.
CREATE TABLE idempotency_key (
    key             text PRIMARY KEY CHECK (octet_length(key) BETWEEN 1 AND 255),
    path            text     NOT NULL,
    parameters_hash bytea    NOT NULL CHECK (octet_length(parameters_hash) = 32),
    status          smallint NOT NULL CHECK (status BETWEEN 200 AND 599),
    body            bytea    NOT NULL,
    created         bigint   NOT NULL DEFAULT unix_now()
);

GRANT SELECT, INSERT, UPDATE ON payment_intent, charge TO idem_service;
GRANT SELECT, INSERT ON refund, idempotency_key TO idem_service;
