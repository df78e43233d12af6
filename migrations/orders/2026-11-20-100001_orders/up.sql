-- Orders, and the catalogue with their prices.
CREATE TABLE orders (
    id             uuid        PRIMARY KEY,
    tenant_id      text        NOT NULL,
    client_id      text        NOT NULL,
    state          text        NOT NULL CHECK (state IN ('pending', 'awaiting_payment', 'confirmed', 'cancelled')),
    cancel_reason  text        CHECK (cancel_reason IN ('rejected', 'declined', 'expired', 'customer')),
    -- The customer's words, if the customer cancelled.
    cancel_note    text,
    -- [{"sku", "quantity", "unit_price"}]: prices are fixed when the order is placed.
    lines          jsonb       NOT NULL,
    amount         bigint      NOT NULL CHECK (amount BETWEEN 1 AND 1000000000000),
    currency       text        NOT NULL,
    payment_method text        NOT NULL,
    reference      text,
    -- Made by orders, once, so that a repeated PaymentRequested names the same payment.
    payment_id     uuid        UNIQUE,
    -- The number of announced events. The next event has sequence + 1.
    sequence       bigint      NOT NULL CHECK (sequence >= 1),
    placed_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at     timestamptz NOT NULL,
    CHECK ((state = 'cancelled') = (cancel_reason IS NOT NULL)),
    CHECK (state NOT IN ('awaiting_payment', 'confirmed') OR payment_id IS NOT NULL)
);
CREATE INDEX orders_of_tenant ON orders (tenant_id, id DESC);
-- For the expiry job. An ended order leaves the index.
CREATE INDEX orders_open ON orders (expires_at) WHERE state IN ('pending', 'awaiting_payment');

-- A projection of inventory's items, fed by ItemChanged. Newer versions win. It lags by moments.
CREATE TABLE catalogue_item (
    tenant_id  text        NOT NULL,
    sku        text        NOT NULL,
    item_id    uuid        NOT NULL UNIQUE,
    name       text        NOT NULL,
    unit_price bigint      NOT NULL CHECK (unit_price >= 1),
    currency   text        NOT NULL,
    version    bigint      NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (tenant_id, sku)
);

GRANT SELECT, INSERT, UPDATE ON orders, catalogue_item TO idem_service;
