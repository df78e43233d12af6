-- A day that may go leaves the outbox as a table, which is dropped later. Programs of the version before still call
-- outbox_drop_day and outbox_delete_default, so these functions stay for now.

-- Takes the partition of a day out of the outbox, or returns why it stays. The partition becomes the table outbox_detached_DAY;
-- with keep_detached_days = 0 it is dropped. 'read': an operator's command reads the outbox.
CREATE FUNCTION outbox_detach_day(of_day date, keep_days integer, keep_detached_days integer) RETURNS text
    -- While DETACH or DROP waits for open transactions, new ones wait behind it: a caller tries again instead.
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '50ms' AS $$
DECLARE
    part text := 'outbox_event_' || to_char(of_day, 'YYYYMMDD');
    reason text := outbox_reason_to_keep(of_day, keep_days);
    has_rows bigint;
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
    EXECUTE format('SELECT count(*), max(id) FROM %I', part) INTO has_rows, last_row;
    IF keep_detached_days > 0 THEN
        EXECUTE format('ALTER TABLE outbox_event DETACH PARTITION %I', part);
        EXECUTE format('ALTER TABLE %I RENAME TO %I', part, 'outbox_detached_' || to_char(of_day, 'YYYYMMDD'));
    ELSE
        EXECUTE format('DROP TABLE %I', part);
    END IF;
    INSERT INTO outbox_dropped_day AS dropped (day, rows, last_id) VALUES (of_day, has_rows, last_row)
    ON CONFLICT (day) DO UPDATE
       SET rows = dropped.rows + excluded.rows, last_id = greatest(dropped.last_id, excluded.last_id), dropped_at = clock_timestamp();
    RETURN 'detached';
END $$;

-- Moves rows of a day from the DEFAULT partition to the table outbox_detached_DAY; with keep_detached_days = 0 it deletes them.
-- Rows that are unpublished or blocked stay. Returns the number of rows; NULL if an operator's command reads the outbox.
CREATE FUNCTION outbox_detach_default(of_day date, keep_days integer, keep_detached_days integer, ids bigint[]) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    detached text := 'outbox_detached_' || to_char(of_day, 'YYYYMMDD');
    has_rows bigint;
    last_row bigint;
BEGIN
    IF NOT outbox_day_is_over(of_day, keep_days) THEN
        RETURN 0;
    END IF;
    IF NOT pg_try_advisory_xact_lock(hashtextextended('outbox_rows', 0)) THEN
        RETURN NULL;
    END IF;
    IF keep_detached_days > 0 AND to_regclass('public.' || detached) IS NULL THEN
        EXECUTE format('CREATE TABLE %I (LIKE outbox_event)', detached);
    END IF;
    -- A statement of its own for each case, because a table that may not exist cannot be named.
    EXECUTE format(
        'WITH deleted AS (
             DELETE FROM outbox_event_default AS event USING outbox_cursor AS relay
              WHERE event.id = ANY ($1)
                AND event.created_at >= $2::timestamp AT TIME ZONE ''UTC''
                AND event.created_at < ($2 + 1)::timestamp AT TIME ZONE ''UTC''
                AND outbox_cursor_is_valid(relay)
                AND outbox_is_published(relay, event.xid, event.id)
                AND NOT EXISTS (SELECT FROM outbox_blocked AS blocked WHERE blocked.id = event.id)
             RETURNING event.*)
         %s SELECT count(*), max(id) FROM deleted',
        CASE WHEN keep_detached_days > 0 THEN format(', kept AS (INSERT INTO %I SELECT * FROM deleted)', detached) END)
       INTO has_rows, last_row USING ids, of_day;
    IF has_rows > 0 THEN
        INSERT INTO outbox_dropped_day AS dropped (day, rows, last_id) VALUES (of_day, has_rows, last_row)
        ON CONFLICT (day) DO UPDATE
           SET rows = dropped.rows + excluded.rows, last_id = greatest(dropped.last_id, excluded.last_id),
               dropped_at = clock_timestamp();
    END IF;
    RETURN has_rows;
END $$;

-- Drops the tables of the days that left the outbox so many days ago. Returns their number.
CREATE FUNCTION outbox_drop_detached(keep_detached_days integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '50ms' AS $$
DECLARE
    detached text;
    dropped bigint := 0;
BEGIN
    FOR detached IN
        SELECT kept.relname
          FROM pg_class AS kept JOIN outbox_dropped_day ON kept.relname = 'outbox_detached_' || to_char(day, 'YYYYMMDD')
         WHERE kept.relnamespace = 'public'::regnamespace
           AND dropped_at + make_interval(days => keep_detached_days) <= clock_timestamp()
    LOOP
        BEGIN
            EXECUTE format('DROP TABLE %I', detached);
            dropped := dropped + 1;
        EXCEPTION WHEN lock_not_available THEN
            NULL; -- somebody copies the table: the next pass drops it
        END;
    END LOOP;
    RETURN dropped;
END $$;

REVOKE EXECUTE ON FUNCTION outbox_detach_day(date, integer, integer) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION outbox_detach_default(date, integer, integer, bigint[]) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION outbox_drop_detached(integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION outbox_detach_day(date, integer, integer) TO idem_service;
GRANT EXECUTE ON FUNCTION outbox_detach_default(date, integer, integer, bigint[]) TO idem_service;
GRANT EXECUTE ON FUNCTION outbox_drop_detached(integer) TO idem_service;
