-- Retention of the outbox: whole days are dropped once they are published and a grace is over.

-- The days whose rows were dropped. An audit reads here which part of a history may be missing. It gets one row a day.
CREATE TABLE outbox_dropped_day (
    -- The day in UTC, by created_at of the rows.
    day        date        PRIMARY KEY,
    rows       bigint      NOT NULL,
    -- The greatest id that was dropped; NULL if the day had no row.
    last_id    bigint,
    dropped_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
GRANT SELECT ON outbox_dropped_day TO idem_service;

-- Returns whether the grace of a day is over. A grace of less than a day would drop the present day.
CREATE FUNCTION outbox_day_is_over(of_day date, keep_days integer) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT keep_days >= 1 AND (of_day + 1 + keep_days)::timestamp AT TIME ZONE 'UTC' <= clock_timestamp()
$$;

-- The days whose grace is over, oldest first: partitions, and days of the DEFAULT partition.
CREATE FUNCTION outbox_days_over(keep_days integer) RETURNS TABLE (day date, is_partition boolean)
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT found.day, found.is_partition
      FROM (SELECT to_date(right(part.relname, 8), 'YYYYMMDD') AS day, true AS is_partition
              FROM pg_inherits JOIN pg_class AS part ON part.oid = inhrelid
             WHERE inhparent = 'outbox_event'::regclass AND part.relname ~ '^outbox_event_[0-9]{8}$'
            UNION ALL
            SELECT DISTINCT (created_at AT TIME ZONE 'UTC')::date, false FROM outbox_event_default) AS found
     WHERE outbox_day_is_over(found.day, keep_days)
     ORDER BY found.day
$$;

-- Returns whether the cursor's transaction numbers can be compared with those of the rows. After a restore they cannot, until
-- the relay has re-based the cursor: rows of the new server would count as published.
CREATE FUNCTION outbox_cursor_is_valid(relay outbox_cursor) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT relay.server = outbox_server()
       AND pg_snapshot_xmax(relay.snapshot_a::pg_snapshot) <= pg_snapshot_xmax(pg_current_snapshot())
       AND coalesce(pg_snapshot_xmax(relay.snapshot_b::pg_snapshot) <= pg_snapshot_xmax(pg_current_snapshot()), true)
$$;

-- Returns why a partition must stay: 'absent', 'young', 'other_server', 'unpublished' or 'blocked'. NULL: it can be dropped.
CREATE FUNCTION outbox_reason_to_keep(of_day date, keep_days integer) RETURNS text
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
    -- Only rows with a number from xmin on can be invisible in snapshot A. During a re-base, xmin is 1.
    EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE xid >= $1 AND NOT outbox_is_published($2, xid, id))', part)
       INTO found USING pg_snapshot_xmin(relay.snapshot_a::pg_snapshot), relay;
    IF found THEN
        RETURN 'unpublished';
    END IF;
    -- The relay deletes a row from outbox_blocked once the event is published.
    EXECUTE format('SELECT EXISTS (SELECT FROM outbox_blocked JOIN %s USING (id))', part) INTO found;
    RETURN CASE WHEN found THEN 'blocked' END;
END $$;

-- Drops the partition of a day, or returns why it stays. With archived_rows, the archive must have the rows of the partition;
-- otherwise the result is 'differs'. 'read': an operator's command reads the outbox.
CREATE FUNCTION outbox_drop_day(of_day date, keep_days integer, archived_rows bigint, archived_first bigint, archived_last bigint)
    RETURNS text
    -- While DROP waits for open transactions, new ones wait behind it: a caller tries again instead.
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '50ms' AS $$
DECLARE
    part text := 'outbox_event_' || to_char(of_day, 'YYYYMMDD');
    reason text := outbox_reason_to_keep(of_day, keep_days);
    has_rows bigint;
    first_row bigint;
    last_row bigint;
BEGIN
    IF reason IS NOT NULL THEN
        RETURN reason;
    END IF;
    IF NOT pg_try_advisory_xact_lock(hashtextextended('outbox_rows', 0)) THEN
        RETURN 'read';
    END IF;
    -- Waits for open writers of this day only. From here on, no row can be added. The relay can read.
    EXECUTE format('LOCK TABLE %I IN SHARE MODE', part);
    reason := outbox_reason_to_keep(of_day, keep_days);
    IF reason IS NOT NULL THEN
        RETURN reason;
    END IF;
    EXECUTE format('SELECT count(*), min(id), max(id) FROM %I', part) INTO has_rows, first_row, last_row;
    IF archived_rows IS NOT NULL
       AND (archived_rows, archived_first, archived_last) IS DISTINCT FROM (has_rows, first_row, last_row) THEN
        RETURN 'differs';
    END IF;
    EXECUTE format('DROP TABLE %I', part);
    INSERT INTO outbox_dropped_day AS dropped (day, rows, last_id) VALUES (of_day, has_rows, last_row)
    ON CONFLICT (day) DO UPDATE
       SET rows = dropped.rows + excluded.rows, last_id = greatest(dropped.last_id, excluded.last_id), dropped_at = clock_timestamp();
    RETURN 'dropped';
END $$;

-- Deletes rows of a day from the DEFAULT partition. Rows that are unpublished or blocked stay. Returns the number of deleted
-- rows; NULL if an operator's command reads the outbox.
CREATE FUNCTION outbox_delete_default(of_day date, keep_days integer, ids bigint[]) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    has_rows bigint;
    last_row bigint;
BEGIN
    IF NOT outbox_day_is_over(of_day, keep_days) THEN
        RETURN 0;
    END IF;
    IF NOT pg_try_advisory_xact_lock(hashtextextended('outbox_rows', 0)) THEN
        RETURN NULL;
    END IF;
    WITH deleted AS (
        DELETE FROM outbox_event_default AS event USING outbox_cursor AS relay
         WHERE event.id = ANY (ids)
           AND event.created_at >= of_day::timestamp AT TIME ZONE 'UTC'
           AND event.created_at < (of_day + 1)::timestamp AT TIME ZONE 'UTC'
           AND outbox_cursor_is_valid(relay)
           AND outbox_is_published(relay, event.xid, event.id)
           AND NOT EXISTS (SELECT FROM outbox_blocked AS blocked WHERE blocked.id = event.id)
        RETURNING event.id
    )
    SELECT count(*), max(id) INTO has_rows, last_row FROM deleted;
    IF has_rows > 0 THEN
        INSERT INTO outbox_dropped_day AS dropped (day, rows, last_id) VALUES (of_day, has_rows, last_row)
        ON CONFLICT (day) DO UPDATE
           SET rows = dropped.rows + excluded.rows, last_id = greatest(dropped.last_id, excluded.last_id),
               dropped_at = clock_timestamp();
    END IF;
    RETURN has_rows;
END $$;

REVOKE EXECUTE ON FUNCTION outbox_days_over(integer) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION outbox_reason_to_keep(date, integer) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION outbox_drop_day(date, integer, bigint, bigint, bigint) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION outbox_delete_default(date, integer, bigint[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION outbox_days_over(integer) TO idem_service;
GRANT EXECUTE ON FUNCTION outbox_reason_to_keep(date, integer) TO idem_service;
GRANT EXECUTE ON FUNCTION outbox_drop_day(date, integer, bigint, bigint, bigint) TO idem_service;
GRANT EXECUTE ON FUNCTION outbox_delete_default(date, integer, bigint[]) TO idem_service;
