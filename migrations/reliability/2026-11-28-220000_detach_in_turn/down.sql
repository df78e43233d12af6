DROP FUNCTION outbox_begin_term(bigint);
DROP FUNCTION outbox_detach_rows(date, integer, integer, bigint);

-- Takes the partition of a day out of the outbox, or returns why it stays. The partition becomes the table outbox_detached_DAY;
-- with keep_detached_days = 0 it is dropped. 'read': an operator's command reads the outbox.
CREATE OR REPLACE FUNCTION outbox_detach_day(of_day date, keep_days integer, keep_detached_days integer) RETURNS text
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

-- Drops the tables of the days that left the outbox so many days ago. Returns their number.
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
        EXCEPTION WHEN lock_not_available THEN
            NULL; -- somebody copies the table: the next pass drops it
        END;
    END LOOP;
    RETURN dropped;
END $$;
