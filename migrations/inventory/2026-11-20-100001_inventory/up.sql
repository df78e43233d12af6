CREATE TABLE item (
    -- UUIDv5 of tenant and SKU: other services compute the id without asking.
    id         uuid        PRIMARY KEY,
    tenant_id  text        NOT NULL,
    sku        text        NOT NULL,
    name       text        NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200),
    unit_price bigint      NOT NULL CHECK (unit_price BETWEEN 1 AND 1000000000000),
    currency   text        NOT NULL,
    -- Counts the changes of name and price, and so the ItemChanged events. A change of stock does not raise it.
    version    bigint      NOT NULL CHECK (version >= 1),
    on_hand    bigint      NOT NULL DEFAULT 0,
    reserved   bigint      NOT NULL DEFAULT 0,
    -- UUIDv7: the order of lists. The id has no order.
    position   uuid        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (tenant_id, sku),
    UNIQUE (tenant_id, position),
    -- A second guard: the program computes stock under the row lock, and refuses such values itself.
    CONSTRAINT item_on_hand_in_range CHECK (on_hand BETWEEN 0 AND 1000000000000),
    CONSTRAINT item_reserved_is_there CHECK (reserved BETWEEN 0 AND on_hand)
);

-- The stock that is reserved for an order. An order whose stock was rejected has no row.
CREATE TABLE reservation (
    -- One reservation for each order, even if a message is delivered again.
    order_id   uuid        PRIMARY KEY,
    tenant_id  text        NOT NULL,
    state      text        NOT NULL CHECK (state IN ('held', 'shipped', 'released')),
    -- The number of announced events: StockReserved, then StockShipped or StockReleased.
    sequence   bigint      NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK (sequence = CASE state WHEN 'held' THEN 1 ELSE 2 END)
);

CREATE TABLE reservation_line (
    order_id  uuid   NOT NULL REFERENCES reservation (order_id),
    item_id   uuid   NOT NULL REFERENCES item (id),
    tenant_id text   NOT NULL,
    sku       text   NOT NULL,
    quantity  bigint NOT NULL CHECK (quantity >= 1),
    PRIMARY KEY (order_id, item_id)
);

-- Every change of on_hand. Rows are never updated or deleted: on_hand is the sum of the movements of its item.
CREATE TABLE stock_movement (
    id        uuid        PRIMARY KEY,
    tenant_id text        NOT NULL,
    item_id   uuid        NOT NULL REFERENCES item (id),
    kind      text        NOT NULL CHECK (kind IN ('adjustment', 'shipment')),
    delta     bigint      NOT NULL CHECK (delta <> 0),
    -- The reason in the client's words.
    reason    text        CHECK (char_length(reason) BETWEEN 1 AND 200),
    -- The order that was shipped.
    order_id  uuid        REFERENCES reservation (order_id),
    moved_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK ((kind = 'adjustment') = (reason IS NOT NULL)),
    CHECK ((kind = 'shipment') = (order_id IS NOT NULL)),
    CHECK (kind = 'adjustment' OR delta < 0),
    -- An item ships once for an order.
    UNIQUE (order_id, item_id)
);

GRANT SELECT, INSERT, UPDATE ON item, reservation TO idem_service;
GRANT SELECT, INSERT ON reservation_line, stock_movement TO idem_service;
