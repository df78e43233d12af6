-- The outbox: an append-only log of events. Rows are never updated; retention drops the partitions of whole days.
CREATE TABLE outbox_event (
    -- CACHE 1, because the relay publishes in the order of ids, and a larger cache mixes that order between sessions.
    id             bigint      GENERATED ALWAYS AS IDENTITY (CACHE 1),
    event_id       uuid        NOT NULL,
    -- The writing transaction. The relay's window is a difference of two snapshots, which compare this column.
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

-- Receives rows of days without a partition. Otherwise a stopped job would stop commands.
CREATE TABLE outbox_event_default PARTITION OF outbox_event DEFAULT;

-- Creates the partitions of today and of the days ahead, and returns the number of new ones. Runs as the owner, so that the
-- service needs no right to create tables.
CREATE FUNCTION outbox_make_partitions(days_ahead integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    first_day date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    made integer := 0;
BEGIN
    -- Serialises two instances that call at the same time.
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
                -- The DEFAULT partition already has rows of this day, so the day stays there. Go on with the next days.
                NULL;
            END;
        END IF;
    END LOOP;
    RETURN made;
END $$;

-- Elects one active relay. Every takeover raises the epoch.
CREATE TABLE outbox_lease (
    singleton   boolean     PRIMARY KEY DEFAULT true CHECK (singleton),
    owner       text        NOT NULL,
    epoch       bigint      NOT NULL,
    lease_until timestamptz NOT NULL
);
INSERT INTO outbox_lease (owner, epoch, lease_until) VALUES ('nobody', 0, '-infinity');

-- The relay's progress: every row visible in snapshot_a is published, and of the window up to snapshot_b every row up to
-- last_id. The epoch is the fencing token: an update by a replaced relay matches no row.
CREATE TABLE outbox_cursor (
    singleton  boolean     PRIMARY KEY DEFAULT true CHECK (singleton),
    epoch      bigint      NOT NULL,
    snapshot_a text        NOT NULL,
    snapshot_b text,
    last_id    bigint      NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
-- The first snapshot sees nothing, so the first window contains every row.
INSERT INTO outbox_cursor (epoch, snapshot_a, snapshot_b, last_id) VALUES (0, '1:1:', NULL, 0);

GRANT SELECT, INSERT ON outbox_event TO idem_service;
GRANT SELECT, UPDATE ON outbox_lease, outbox_cursor TO idem_service;
REVOKE EXECUTE ON FUNCTION outbox_make_partitions(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION outbox_make_partitions(integer) TO idem_service;
