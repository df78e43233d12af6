-- The history of each order, and the cause of each entry. Rows are never changed.
CREATE TABLE order_timeline (
    -- Drawn while the order is locked, so a higher id is later within one order.
    id         bigint      GENERATED ALWAYS AS IDENTITY,
    order_id   uuid        NOT NULL REFERENCES orders (id),
    tenant_id  text        NOT NULL,
    -- The name of the announced or received event.
    what       text        NOT NULL,
    -- The order's state after the event.
    state      text        NOT NULL CHECK (state IN ('pending', 'awaiting_payment', 'confirmed', 'cancelled')),
    cause_kind text        NOT NULL CHECK (cause_kind IN ('request', 'message', 'job')),
    -- The operation id of a request or job, or the id of a message.
    cause_id   uuid        NOT NULL,
    -- The client, or the service that sent the message.
    cause_by   text        NOT NULL,
    at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- One cause adds each event once.
    PRIMARY KEY (order_id, cause_id, what)
);
GRANT SELECT, INSERT ON order_timeline TO idem_service;

-- Both columns read the clock once, so that a new order has placed_at = updated_at.
ALTER TABLE orders
    ALTER COLUMN placed_at SET DEFAULT statement_timestamp(),
    ALTER COLUMN updated_at SET DEFAULT statement_timestamp();
