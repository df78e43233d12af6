-- What happened to each order, and what brought it about. Never rewritten.
CREATE TABLE order_timeline (
    -- Drawn while the order is locked: within one order, higher is later.
    id         bigint      GENERATED ALWAYS AS IDENTITY,
    order_id   uuid        NOT NULL REFERENCES orders (id),
    tenant_id  text        NOT NULL,
    -- The event's name: one that was told here, or one that was heard.
    what       text        NOT NULL,
    -- Of the order, after it.
    state      text        NOT NULL CHECK (state IN ('pending', 'awaiting_payment', 'confirmed', 'cancelled')),
    cause_kind text        NOT NULL CHECK (cause_kind IN ('request', 'message', 'job')),
    -- The operation of a request or job, or the message's id.
    cause_id   uuid        NOT NULL,
    -- The client, or the service that spoke.
    cause_by   text        NOT NULL,
    at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- Nothing happens twice by one cause.
    PRIMARY KEY (order_id, cause_id, what)
);
GRANT SELECT, INSERT ON order_timeline TO idem_service;

-- One reading of the clock for both: a new order changed last when it was placed.
ALTER TABLE orders
    ALTER COLUMN placed_at SET DEFAULT statement_timestamp(),
    ALTER COLUMN updated_at SET DEFAULT statement_timestamp();
