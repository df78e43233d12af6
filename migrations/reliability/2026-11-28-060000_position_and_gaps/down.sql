DROP FUNCTION outbox_start_over(bigint);
ALTER TABLE outbox_cursor DROP COLUMN position, DROP COLUMN gaps;

CREATE OR REPLACE FUNCTION outbox_is_published(relay outbox_cursor, xid xid8, id bigint) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN id <= relay.restored_id THEN relay.floor_a >= relay.restored_id
                ELSE pg_visible_in_snapshot(xid, relay.snapshot_a::pg_snapshot) END
        OR (id <= relay.last_id
            AND (id <= relay.restored_id OR coalesce(pg_visible_in_snapshot(xid, relay.snapshot_b::pg_snapshot), false)))
$$;

CREATE OR REPLACE FUNCTION outbox_timeline() RETURNS text LANGUAGE sql STABLE AS $$
    SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)
$$;

CREATE OR REPLACE FUNCTION outbox_cursor_is_valid(relay outbox_cursor) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT relay.server = outbox_server()
       AND pg_snapshot_xmax(relay.snapshot_a::pg_snapshot) <= pg_snapshot_xmax(pg_current_snapshot())
       AND coalesce(pg_snapshot_xmax(relay.snapshot_b::pg_snapshot) <= pg_snapshot_xmax(pg_current_snapshot()), true)
$$;

CREATE OR REPLACE FUNCTION outbox_reason_to_keep(of_day date, keep_days integer) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    part regclass := to_regclass('outbox_event_' || to_char(of_day, 'YYYYMMDD'));
    relay outbox_cursor;
    found boolean;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = part AND inhparent = 'outbox_event'::regclass) THEN
        RETURN 'absent';
    END IF;
    IF NOT outbox_day_is_over(of_day, keep_days) THEN
        RETURN 'young';
    END IF;
    SELECT * INTO relay FROM outbox_cursor;
    IF NOT outbox_cursor_is_valid(relay) THEN
        RETURN 'other_server';
    END IF;
    EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE xid >= $1 AND NOT outbox_is_published($2, xid, id))', part)
       INTO found USING pg_snapshot_xmin(relay.snapshot_a::pg_snapshot), relay;
    IF found THEN
        RETURN 'unpublished';
    END IF;
    EXECUTE format('SELECT EXISTS (SELECT FROM outbox_blocked JOIN %s USING (id))', part) INTO found;
    RETURN CASE WHEN found THEN 'blocked' END;
END $$;
