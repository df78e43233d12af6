CREATE TABLE orders (
    id             uuid        PRIMARY KEY,
    tenant_id      text        NOT NULL,
    client_id      text        NOT NULL,
    state          text        NOT NULL CHECK (state IN ('pending', 'awaiting_payment', 'confirmed', 'cancelled')),
    cancel_reason  text        CHECK (cancel_reason IN ('rejected', 'declined', 'expired', 'customer')),
    -- The customer's own words, if the customer cancelled.
    cancel_note    text,
    -- [{"sku", "quantity", "unit_price"}], with the prices of the moment when the order was placed.
    lines          jsonb       NOT NULL,
    amount         bigint      NOT NULL CHECK (amount BETWEEN 1 AND 1000000000000),
    currency       text        NOT NULL,
    payment_method text        NOT NULL,
    reference      text,
    -- Made here, once: a repeated PaymentRequested names the same payment.
    payment_id     uuid        UNIQUE,
    -- The number of events that the order has announced. The next event is sequence + 1.
    sequence       bigint      NOT NULL CHECK (sequence >= 1),
    -- Both defaults read the clock of the statement: a new order has changed last when it was placed.
    placed_at      timestamptz NOT NULL DEFAULT statement_timestamp(),
    updated_at     timestamptz NOT NULL DEFAULT statement_timestamp(),
    expires_at     timestamptz NOT NULL,
    -- A condition on the bound values of "state" would not lead to the index below.
    is_open        boolean     NOT NULL GENERATED ALWAYS AS (state IN ('pending', 'awaiting_payment')) STORED,
    CHECK ((state = 'cancelled') = (cancel_reason IS NOT NULL)),
    CHECK (state NOT IN ('awaiting_payment', 'confirmed') OR payment_id IS NOT NULL)
);
-- For lists: of all orders, and of those with a status or a reference.
CREATE INDEX orders_of_tenant ON orders (tenant_id, id DESC);
CREATE INDEX orders_of_status ON orders (tenant_id, state, id DESC);
CREATE INDEX orders_of_reference ON orders (tenant_id, reference, id DESC) WHERE reference IS NOT NULL;
-- For the expiry job. An order leaves the index when it ends.
CREATE INDEX orders_open ON orders (expires_at, id) WHERE is_open;

-- What happened to each order, and what caused it. Rows are never updated or deleted.
CREATE TABLE order_timeline (
    -- Drawn while the order is locked: within one order, a higher id is later.
    id         bigint      GENERATED ALWAYS AS IDENTITY,
    order_id   uuid        NOT NULL REFERENCES orders (id),
    tenant_id  text        NOT NULL,
    -- The name of an event that the order announced or received.
    what       text        NOT NULL,
    -- The order's state after the event.
    state      text        NOT NULL CHECK (state IN ('pending', 'awaiting_payment', 'confirmed', 'cancelled')),
    cause_kind text        NOT NULL CHECK (cause_kind IN ('request', 'message', 'job')),
    -- The operation of a request or job, or the id of a message.
    cause_id   uuid        NOT NULL,
    -- The client, the service that sent the message, or '@system' for a job.
    cause_by   text        NOT NULL,
    at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- One cause has each effect once.
    PRIMARY KEY (order_id, cause_id, what)
);

-- A copy of inventory's items, for prices. A newer version replaces an older one; the copy may lag by moments.
CREATE TABLE catalogue_item (
    tenant_id  text        NOT NULL,
    sku        text        NOT NULL,
    -- UUIDv5 of tenant and SKU, and therefore unique as they are.
    item_id    uuid        NOT NULL,
    name       text        NOT NULL,
    unit_price bigint      NOT NULL CHECK (unit_price >= 1),
    currency   text        NOT NULL,
    version    bigint      NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, sku)
);

GRANT SELECT, INSERT, UPDATE ON orders, catalogue_item TO idem_service;
GRANT SELECT, INSERT ON order_timeline TO idem_service;
