-- "What was committed is published": an append-only log. No row is ever updated; retention drops whole days.
CREATE TABLE outbox_event (
    -- CACHE 1: a larger cache hands out ids out of order between sessions, and ids are the order.
    id             bigint      GENERATED ALWAYS AS IDENTITY (CACHE 1),
    event_id       uuid        NOT NULL,
    -- Which transaction wrote it: the relay's window is a difference of two snapshots.
    xid            xid8        NOT NULL DEFAULT pg_current_xact_id(),
    topic          text        NOT NULL,
    partition_key  uuid        NOT NULL,
    aggregate_type text        NOT NULL,
    aggregate_id   uuid        NOT NULL,
    sequence       bigint      NOT NULL CHECK (sequence >= 1),
    type           text        NOT NULL,
    source         text        NOT NULL,
    tenant_id      text        NOT NULL,
    payload        bytea       NOT NULL,
    traceparent    text,
    created_at     timestamptz NOT NULL DEFAULT clock_timestamp()
) PARTITION BY RANGE (created_at);
CREATE INDEX outbox_event_xid ON outbox_event (xid);
CREATE INDEX outbox_event_id ON outbox_event (id);

-- A stopped job must never stop commands: what no day covers lands here.
CREATE TABLE outbox_event_default PARTITION OF outbox_event DEFAULT;

-- Makes the partitions of today and the days ahead; returns how many were new. Runs as the owner, so that the
-- service needs no right to create anything.
CREATE FUNCTION outbox_make_partitions(days_ahead integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    first_day date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    made integer := 0;
BEGIN
    -- Two instances may ask at once.
    PERFORM pg_advisory_xact_lock(hashtextextended('outbox_make_partitions', 0));
    FOR i IN 0 .. days_ahead LOOP
        IF to_regclass('outbox_event_' || to_char(first_day + i, 'YYYYMMDD')) IS NULL THEN
            BEGIN
                EXECUTE format(
                    'CREATE TABLE %I PARTITION OF outbox_event FOR VALUES FROM (%L) TO (%L)',
                    'outbox_event_' || to_char(first_day + i, 'YYYYMMDD'),
                    (first_day + i)::timestamp AT TIME ZONE 'UTC',
                    (first_day + i + 1)::timestamp AT TIME ZONE 'UTC');
                made := made + 1;
            EXCEPTION WHEN check_violation THEN
                -- The day began in the DEFAULT partition and stays there; the days after it are still to be made.
                NULL;
            END;
        END IF;
    END LOOP;
    RETURN made;
END $$;

-- One active relay; every takeover raises the epoch.
CREATE TABLE outbox_lease (
    singleton   boolean     PRIMARY KEY DEFAULT true CHECK (singleton),
    owner       text        NOT NULL,
    epoch       bigint      NOT NULL,
    lease_until timestamptz NOT NULL
);
INSERT INTO outbox_lease (owner, epoch, lease_until) VALUES ('nobody', 0, '-infinity');

-- How far the relay is: everything visible in snapshot_a is published; of the window up to snapshot_b, everything up
-- to last_id. The epoch is the fence: a relay that was replaced matches no row.
CREATE TABLE outbox_cursor (
    singleton  boolean     PRIMARY KEY DEFAULT true CHECK (singleton),
    epoch      bigint      NOT NULL,
    snapshot_a text        NOT NULL,
    snapshot_b text,
    last_id    bigint      NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
-- Before everything: the first window holds every row.
INSERT INTO outbox_cursor (epoch, snapshot_a, snapshot_b, last_id) VALUES (0, '1:1:', NULL, 0);

GRANT SELECT, INSERT ON outbox_event TO idem_service;
GRANT SELECT, UPDATE ON outbox_lease, outbox_cursor TO idem_service;
REVOKE EXECUTE ON FUNCTION outbox_make_partitions(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION outbox_make_partitions(integer) TO idem_service;
