-- Who takes days out of the outbox waits at most 50 ms for another instance, and for an operator's command that reads it: the caller tries
-- again instead. Programs of the version before call outbox_detach_default and outbox_start_over, so these functions stay for now.

-- Takes the partition of a day out of the outbox, or returns why it stays. The partition becomes the table outbox_detached_DAY;
-- with keep_detached_days = 0 it is dropped.
CREATE OR REPLACE FUNCTION outbox_detach_day(of_day date, keep_days integer, keep_detached_days integer) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '50ms' AS $$
DECLARE
    part text := 'outbox_event_' || to_char(of_day, 'YYYYMMDD');
    reason text;
    has_rows bigint;
    last_row bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('outbox_rows', 0));
    reason := outbox_reason_to_keep(of_day, keep_days);
    IF reason IS NOT NULL THEN
        RETURN reason;
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

-- Moves the next thousand rows of a day, in the order of ids, from the DEFAULT partition to the table outbox_detached_DAY; with
-- keep_detached_days = 0 it deletes them. Rows that are unpublished or blocked stay. Returns their number and the last id.
CREATE FUNCTION outbox_detach_rows(of_day date, keep_days integer, keep_detached_days integer, after_id bigint)
    RETURNS TABLE (detached_rows bigint, last_row bigint)
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '50ms' AS $$
DECLARE
    detached text := 'outbox_detached_' || to_char(of_day, 'YYYYMMDD');
    ids bigint[];
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('outbox_rows', 0));
    SELECT array_agg(id), count(*), max(id) INTO ids, detached_rows, last_row
      FROM (SELECT event.id
              FROM outbox_event_default AS event, outbox_cursor AS relay
             WHERE event.id > after_id
               AND event.created_at >= of_day::timestamp AT TIME ZONE 'UTC'
               AND event.created_at < (of_day + 1)::timestamp AT TIME ZONE 'UTC'
               AND outbox_day_is_over(of_day, keep_days)
               AND outbox_is_published(relay, event.xid, event.id)
               AND NOT EXISTS (SELECT FROM outbox_blocked AS blocked WHERE blocked.id = event.id)
             ORDER BY event.id LIMIT 1000) AS detachable;
    IF ids IS NOT NULL THEN
        IF keep_detached_days > 0 THEN
            IF to_regclass('public.' || detached) IS NULL THEN
                EXECUTE format('CREATE TABLE %I (LIKE outbox_event)', detached);
            END IF;
            EXECUTE format('INSERT INTO %I SELECT * FROM outbox_event_default WHERE id = ANY ($1)', detached) USING ids;
        END IF;
        DELETE FROM outbox_event_default WHERE id = ANY (ids);
        INSERT INTO outbox_dropped_day AS dropped (day, rows, last_id) VALUES (of_day, detached_rows, last_row)
        ON CONFLICT (day) DO UPDATE
           SET rows = dropped.rows + excluded.rows, last_id = greatest(dropped.last_id, excluded.last_id),
               dropped_at = clock_timestamp();
    END IF;
    RETURN NEXT;
END $$;
REVOKE EXECUTE ON FUNCTION outbox_detach_rows(date, integer, integer, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION outbox_detach_rows(date, integer, integer, bigint) TO idem_service;

-- Drops the tables of the days that left the outbox so many days ago. Returns their number. Another instance may drop them, too.
CREATE OR REPLACE FUNCTION outbox_drop_detached(keep_detached_days integer) RETURNS bigint
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
        EXCEPTION WHEN lock_not_available OR undefined_table THEN
            NULL; -- somebody copies the table, and the next pass drops it; or another instance has dropped it
        END;
    END LOOP;
    RETURN dropped;
END $$;

-- Begins the term of this epoch. If the database is on another server than before, or if the sequence gives ids again, it sets the cursor
-- before the first row, and returns why: consumers that were restored, too, or topics that were lost may need any row. Changes nothing if
-- another relay has raised the epoch, because the cursor is that relay's.
CREATE FUNCTION outbox_begin_term(relay_epoch bigint) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    before text := (SELECT server FROM outbox_cursor);
    present text := outbox_server();
    reason text;
    last_id bigint;
BEGIN
    UPDATE outbox_cursor SET server = present WHERE epoch = relay_epoch AND server = '';
    UPDATE outbox_cursor SET server = present, restored_at = clock_timestamp(), position = 0, gaps = '{}'
     WHERE epoch = relay_epoch AND server <> present;
    IF FOUND THEN
        reason := format('the database was restored or promoted: it was %s, and is %s', before, present);
    END IF;
    last_id := outbox_start_over(relay_epoch);
    RETURN coalesce(reason, 'the ids of the outbox went back: rows have ids up to ' || last_id);
END $$;
REVOKE EXECUTE ON FUNCTION outbox_begin_term(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION outbox_begin_term(bigint) TO idem_service;
