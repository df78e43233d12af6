-- The processor's books. Times are unix seconds of this database's clock, as Stripe's API has them.

CREATE FUNCTION unix_now() RETURNS bigint
    LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN floor(extract(epoch FROM clock_timestamp()))::bigint;

CREATE TABLE payment_intent (
    id                  text PRIMARY KEY CHECK (id LIKE 'pi\_%'),
    -- The order of lists. Ids and seconds do not give one.
    position            bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    amount              bigint NOT NULL CHECK (amount BETWEEN 1 AND 1000000000000),
    amount_received     bigint NOT NULL DEFAULT 0,
    currency            text   NOT NULL CHECK (currency ~ '^[a-z]{3}$'),
    status              text   NOT NULL CHECK (status IN (
        'requires_payment_method', 'requires_confirmation', 'requires_action', 'processing', 'requires_capture',
        'succeeded', 'canceled')),
    capture_method      text   NOT NULL DEFAULT 'automatic' CHECK (capture_method IN ('automatic', 'manual')),
    payment_method      text,
    latest_charge       text,
    decline_code        text,
    cancellation_reason text,
    canceled_at         bigint,
    metadata            jsonb  NOT NULL,
    created             bigint NOT NULL DEFAULT unix_now(),
    CHECK ((status = 'canceled') = (canceled_at IS NOT NULL)),
    CONSTRAINT received_within_amount CHECK (amount_received BETWEEN 0 AND amount),
    CONSTRAINT received_if_succeeded  CHECK (status <> 'succeeded' OR amount_received > 0)
);

-- One row for each attempt to charge a card. No constraint makes the charge of an order unique, so that a client
-- that charges twice can be shown its second charge.
CREATE TABLE charge (
    id                  text PRIMARY KEY CHECK (id LIKE 'ch\_%'),
    payment_intent      text   NOT NULL REFERENCES payment_intent (id),
    amount              bigint NOT NULL CHECK (amount > 0),
    amount_captured     bigint NOT NULL DEFAULT 0,
    amount_refunded     bigint NOT NULL DEFAULT 0,
    currency            text   NOT NULL,
    payment_method      text   NOT NULL,
    status              text   NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed')),
    decline_code        text,
    balance_transaction text,
    metadata            jsonb  NOT NULL DEFAULT '{}',
    created             bigint NOT NULL DEFAULT unix_now(),
    CONSTRAINT capture_within_charge  CHECK (amount_captured BETWEEN 0 AND amount),
    CONSTRAINT capture_of_success     CHECK (status = 'succeeded' OR amount_captured = 0),
    -- The second guard. The first is the row lock under which refunds are counted.
    CONSTRAINT refunds_within_capture CHECK (amount_refunded BETWEEN 0 AND amount_captured)
);
CREATE INDEX charge_by_payment_intent ON charge (payment_intent);

CREATE TABLE refund (
    id                          text PRIMARY KEY CHECK (id LIKE 're\_%'),
    position                    bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    charge                      text   NOT NULL REFERENCES charge (id),
    payment_intent              text   NOT NULL REFERENCES payment_intent (id),
    amount                      bigint NOT NULL CHECK (amount > 0),
    currency                    text   NOT NULL,
    status                      text   NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed')),
    reason                      text,
    failure_reason              text,
    balance_transaction         text,
    failure_balance_transaction text,
    metadata                    jsonb  NOT NULL,
    created                     bigint NOT NULL DEFAULT unix_now(),
    CONSTRAINT a_failure_has_its_reason CHECK ((status = 'failed') = (failure_reason IS NOT NULL))
);
CREATE INDEX refund_by_payment_intent ON refund (payment_intent, position);

-- Every movement of the account's balance. INSERT only.
CREATE TABLE balance_transaction (
    id       text PRIMARY KEY CHECK (id LIKE 'txn\_%'),
    type     text   NOT NULL CHECK (type IN ('charge', 'refund', 'refund_failure')),
    source   text   NOT NULL,
    amount   bigint NOT NULL,
    fee      bigint NOT NULL,
    net      bigint NOT NULL,
    currency text   NOT NULL,
    created  bigint NOT NULL DEFAULT unix_now(),
    CONSTRAINT net_is_what_is_left    CHECK (net = amount - fee),
    CONSTRAINT a_movement_stands_once UNIQUE (source, type)
);

-- Decisions that a bank makes later. The transaction that carries a decision out deletes its row.
CREATE TABLE bank_decision (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    object   text        NOT NULL,
    decision text        NOT NULL
        CHECK (decision IN ('charge_succeeds', 'charge_fails', 'refund_succeeds', 'refund_fails')),
    due_at   timestamptz NOT NULL
);
CREATE INDEX bank_decision_due ON bank_decision (due_at);

-- An event is committed with its cause, and delivered afterwards.
CREATE TABLE event (
    id              text PRIMARY KEY CHECK (id LIKE 'evt\_%'),
    position        bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    type            text    NOT NULL,
    -- The object as it was when the event happened.
    object          jsonb   NOT NULL,
    request         text,
    idempotency_key text,
    created         bigint  NOT NULL DEFAULT unix_now(),
    -- Whether its deliveries have been planned.
    planned         boolean NOT NULL DEFAULT false
);
CREATE INDEX event_to_plan ON event (position) WHERE NOT planned;

-- One event to one endpoint. A fault may plan it twice.
CREATE TABLE delivery (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event        text     NOT NULL REFERENCES event (id),
    url          text     NOT NULL,
    -- The next attempt. During an attempt: when its lease ends. NULL: there is no further attempt.
    due_at       timestamptz,
    attempts     integer  NOT NULL DEFAULT 0,
    delivered_at timestamptz,
    CONSTRAINT delivered_is_over CHECK (delivered_at IS NULL OR due_at IS NULL)
);
CREATE INDEX delivery_due ON delivery (due_at) WHERE due_at IS NOT NULL;

-- The first response under each Idempotency-Key, committed together with its effect. After `valid_until` the key is
-- free: the next request under it is a new one.
CREATE TABLE idempotency_key (
    key             text PRIMARY KEY CHECK (octet_length(key) BETWEEN 1 AND 255),
    path            text     NOT NULL,
    parameters_hash bytea    NOT NULL CHECK (octet_length(parameters_hash) = 32),
    status          smallint NOT NULL CHECK (status BETWEEN 200 AND 599),
    body            bytea    NOT NULL,
    created         bigint   NOT NULL DEFAULT unix_now(),
    valid_until     timestamptz NOT NULL DEFAULT clock_timestamp() + interval '24 hours'
);

GRANT SELECT, INSERT, UPDATE ON payment_intent, charge, refund, event, delivery, idempotency_key TO idem_service;
GRANT SELECT, INSERT ON balance_transaction TO idem_service;
-- UPDATE, because SELECT … FOR UPDATE locks a row before it is deleted.
GRANT SELECT, INSERT, UPDATE, DELETE ON bank_decision TO idem_service;
