-- Items with their stock, and who was promised how much of it.
CREATE TABLE item (
    -- UUIDv5 of tenant and SKU: whoever knows both knows it.
    id         uuid        PRIMARY KEY,
    tenant_id  text        NOT NULL,
    sku        text        NOT NULL,
    name       text        NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200),
    unit_price bigint      NOT NULL CHECK (unit_price BETWEEN 1 AND 1000000000000),
    currency   text        NOT NULL,
    -- Of the catalogue entry, which is also how many ItemChanged were told. Movements of stock do not raise it.
    version    bigint      NOT NULL CHECK (version >= 1),
    on_hand    bigint      NOT NULL DEFAULT 0,
    reserved   bigint      NOT NULL DEFAULT 0,
    -- UUIDv7: the order of lists. The id gives none.
    position   uuid        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    UNIQUE (tenant_id, sku),
    UNIQUE (tenant_id, position),
    -- The last guards; the row lock under which stock is counted is the first.
    CONSTRAINT item_on_hand_in_range CHECK (on_hand BETWEEN 0 AND 1000000000000),
    CONSTRAINT item_reserved_is_there CHECK (reserved BETWEEN 0 AND on_hand)
);

-- What an order was promised. An order whose stock was refused has no row.
CREATE TABLE reservation (
    -- One reservation an order, whatever is delivered how often.
    order_id   uuid        PRIMARY KEY,
    tenant_id  text        NOT NULL,
    state      text        NOT NULL CHECK (state IN ('held', 'shipped', 'released')),
    -- Events told so far: StockReserved, then StockShipped or StockReleased.
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
CREATE INDEX reservation_line_of_item ON reservation_line (item_id);

-- Every change of on_hand, never rewritten: on_hand is the sum of its item's movements.
CREATE TABLE stock_movement (
    id        uuid        PRIMARY KEY,
    tenant_id text        NOT NULL,
    item_id   uuid        NOT NULL REFERENCES item (id),
    kind      text        NOT NULL CHECK (kind IN ('adjustment', 'shipment')),
    delta     bigint      NOT NULL CHECK (delta <> 0),
    -- Why, in the client's words.
    reason    text        CHECK (char_length(reason) BETWEEN 1 AND 200),
    -- For which order it left.
    order_id  uuid        REFERENCES reservation (order_id),
    moved_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    CHECK ((kind = 'adjustment') = (reason IS NOT NULL)),
    CHECK ((kind = 'shipment') = (order_id IS NOT NULL)),
    CHECK (kind = 'adjustment' OR delta < 0),
    -- An item leaves once for an order.
    UNIQUE (order_id, item_id)
);
CREATE INDEX stock_movement_of_item ON stock_movement (item_id);

GRANT SELECT, INSERT, UPDATE ON item, reservation TO idem_service;
GRANT SELECT, INSERT ON reservation_line, stock_movement TO idem_service;
