-- The outbox: an append-only log of events. Rows are never updated; retention drops the partitions of whole days.
CREATE TABLE outbox_event (
    -- The writing transaction. The relay's window is a difference of two snapshots, which compare this column. It is the first
    -- column, because PostgreSQL computes defaults in the order of the columns: a transaction draws its number before its
    -- first id. The floors of the relay's cursor rely on that.
    xid            xid8        NOT NULL DEFAULT pg_current_xact_id(),
    -- CACHE 1, because the relay publishes in the order of ids, and a larger cache mixes that order between sessions.
    id             bigint      GENERATED ALWAYS AS IDENTITY (CACHE 1),
    event_id       uuid        NOT NULL,
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
CREATE INDEX outbox_event_xid ON outbox_event (xid, id);
CREATE INDEX outbox_event_id ON outbox_event (id);

-- Receives rows of days without a partition. Otherwise a stopped job would stop commands.
CREATE TABLE outbox_event_default PARTITION OF outbox_event DEFAULT;

-- Creates the partitions of today and of the days ahead, and returns the number of new ones. Runs as the owner, so that the
-- service needs no right to create tables.
CREATE FUNCTION outbox_make_partitions(days_ahead integer) RETURNS integer
    -- While it waits for open writers, new writers wait behind it: a caller tries again instead.
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '50ms' AS $$
DECLARE
    first_day date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    made integer := 0;
BEGIN
    -- Another instance is making them.
    IF NOT pg_try_advisory_xact_lock(hashtextextended('outbox_make_partitions', 0)) THEN
        RETURN 0;
    END IF;
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
    singleton   boolean     PRIMARY KEY DEFAULT true CHECK (singleton),
    epoch       bigint      NOT NULL,
    snapshot_a  text        NOT NULL,
    -- A row with an id up to the floor belongs to a transaction with a number below next_xid, and next_xid was assigned after
    -- the snapshot. So such a row that the snapshot does not see belongs to a transaction that was open.
    floor_a     bigint      NOT NULL DEFAULT 0,
    next_xid_a  bigint      NOT NULL DEFAULT 0,
    snapshot_b  text,
    floor_b     bigint      NOT NULL DEFAULT 0,
    next_xid_b  bigint      NOT NULL DEFAULT 0,
    last_id     bigint      NOT NULL,
    -- Rows up to this id came with a restored database. The relay publishes all of them in one window.
    restored_id bigint      NOT NULL DEFAULT 0,
    -- The server that assigned the transaction numbers of both snapshots, as outbox_server() names it.
    server      text        NOT NULL DEFAULT '',
    -- When the relay last found that the database had been restored or promoted.
    restored_at timestamptz,
    updated_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
-- The first snapshot sees nothing, so the first window contains every row.
INSERT INTO outbox_cursor (epoch, snapshot_a, snapshot_b, last_id) VALUES (0, '1:1:', NULL, 0);

-- Returns whether the relay has published a row.
CREATE FUNCTION outbox_is_published(relay outbox_cursor, xid xid8, id bigint) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id <= relay.restored_id THEN relay.floor_a >= relay.restored_id
                ELSE pg_visible_in_snapshot(xid, relay.snapshot_a::pg_snapshot) END
        OR (id <= relay.last_id
            AND (id <= relay.restored_id OR coalesce(pg_visible_in_snapshot(xid, relay.snapshot_b::pg_snapshot), false)))
$$;

-- System identifier, timeline and database. A dump restores none of them; a promotion changes the timeline.
CREATE FUNCTION outbox_server() RETURNS text LANGUAGE sql STABLE AS $$
    SELECT format('%s/%s/%s', system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8),
                  (SELECT oid FROM pg_database WHERE datname = current_database()))
      FROM pg_control_system()
$$;

-- Returns whether the database was restored or promoted after this time. It needs no relay to have noticed.
CREATE FUNCTION outbox_restored_since(since timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT server NOT IN ('', outbox_server()) OR coalesce(restored_at >= since, false) FROM outbox_cursor
$$;

-- Sets the cursor before the first row, after the transaction numbers have gone back. All rows that exist form the next window.
-- The lock waits for open writers: later rows have transaction numbers that the new snapshot compares correctly. Returns
-- the greatest id; NULL if another relay has raised the epoch. Runs as the owner, because the service may not lock the table.
CREATE FUNCTION outbox_rebase(relay_epoch bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    restored bigint;
BEGIN
    LOCK TABLE outbox_event IN SHARE MODE;
    SELECT coalesce(max(id), 0) INTO restored FROM outbox_event;
    -- Logical replication does not copy the positions of sequences.
    PERFORM setval('outbox_event_id_seq', restored)
      WHERE restored > coalesce(pg_sequence_last_value('outbox_event_id_seq'), 0);
    UPDATE outbox_cursor
       SET snapshot_a = '1:1:', floor_a = 0, next_xid_a = 0,
           snapshot_b = pg_current_snapshot()::text, floor_b = restored, next_xid_b = pg_current_xact_id()::text::bigint,
           last_id = 0, restored_id = restored, server = outbox_server(), restored_at = clock_timestamp(),
           updated_at = clock_timestamp()
     WHERE epoch = relay_epoch;
    RETURN CASE WHEN FOUND THEN restored END;
END $$;

-- Events that the brokers cannot take, and later events of the same aggregates. The relay has passed them, and publishes
-- them once an operator has released them, or once their topic can be used.
CREATE TABLE outbox_blocked (
    id           bigint      PRIMARY KEY,
    aggregate_id uuid        NOT NULL,
    -- NULL: the event waits behind an earlier one of its aggregate.
    error        text,
    -- The topic of the event, if it did not exist or had a partition without a leader.
    unusable_topic text,
    blocked_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    released_at  timestamptz
);
CREATE INDEX outbox_blocked_aggregate ON outbox_blocked (aggregate_id);

GRANT SELECT, INSERT ON outbox_event TO idem_service;
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox_blocked TO idem_service;
GRANT SELECT ON SEQUENCE outbox_event_id_seq TO idem_service;
GRANT SELECT, UPDATE ON outbox_lease, outbox_cursor TO idem_service;
REVOKE EXECUTE ON FUNCTION outbox_rebase(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION outbox_rebase(bigint) TO idem_service;
REVOKE EXECUTE ON FUNCTION outbox_make_partitions(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION outbox_make_partitions(integer) TO idem_service;
