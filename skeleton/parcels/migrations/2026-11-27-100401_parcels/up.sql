CREATE TABLE parcel (
    -- Made from the order's id: a confirmation that is delivered again finds its parcel.
    id         uuid        PRIMARY KEY,
    tenant_id  text        NOT NULL,
    order_id   uuid        NOT NULL UNIQUE,
    state      text        NOT NULL CHECK (state IN ('open', 'completed')),
    -- The words of the client that completed it; null once they are erased.
    note       text        CHECK (state = 'completed' OR note IS NULL),
    -- The number of announced events: ParcelCompleted is the only one.
    sequence   bigint      NOT NULL CHECK (sequence = CASE state WHEN 'completed' THEN 1 ELSE 0 END),
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
-- For lists.
CREATE INDEX parcel_of_tenant ON parcel (tenant_id, id DESC);

GRANT SELECT, INSERT, UPDATE ON parcel TO idem_service;
