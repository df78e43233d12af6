-- What happened, for those who want to be told: an event is committed with its cause, and delivered afterwards.

CREATE TABLE event (
    id              text PRIMARY KEY CHECK (id LIKE 'evt\_%'),
    position        bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    type            text    NOT NULL,
    -- As it was at that moment.
    object          jsonb   NOT NULL,
    request         text,
    idempotency_key text,
    created         bigint  NOT NULL DEFAULT unix_now(),
    -- Whether its deliveries have been planned.
    planned         boolean NOT NULL DEFAULT false
);
CREATE INDEX event_to_plan ON event (position) WHERE NOT planned;

-- One event to one endpoint; twice, if a fault wants it.
CREATE TABLE delivery (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event        text     NOT NULL REFERENCES event (id),
    url          text     NOT NULL,
    -- The next attempt. While one is under way, the moment from which its maker is taken for dead. NULL: it is over.
    due_at       timestamptz,
    attempts     integer  NOT NULL DEFAULT 0,
    delivered_at timestamptz,
    CONSTRAINT delivered_is_over CHECK (delivered_at IS NULL OR due_at IS NULL)
);
CREATE INDEX delivery_due ON delivery (due_at) WHERE due_at IS NOT NULL;

GRANT SELECT, INSERT, UPDATE ON event, delivery TO idem_service;
