-- The relay's progress becomes a position and its gaps. Programs of the version before still use the other columns of outbox_cursor,
-- outbox_timeline, outbox_rebase, outbox_cursor_is_valid and the index on (xid, id), so these stay for now.

-- Every committed row with an id up to the position is published or blocked, unless its id is among the gaps.
ALTER TABLE outbox_cursor
    ADD COLUMN position bigint         NOT NULL DEFAULT 0,
    ADD COLUMN gaps     int8multirange NOT NULL DEFAULT '{}';

-- The last row before the first one that is not published. The gaps are the ids before it without a row: a transaction that is open
-- now may have drawn them.
WITH waiting AS (
    SELECT min(event.id) AS first_id FROM outbox_event AS event, outbox_cursor AS relay
     WHERE NOT (outbox_cursor_is_valid(relay) AND outbox_is_published(relay, event.xid, event.id))
), passed AS (
    SELECT coalesce(first_id - 1, (SELECT max(id) FROM outbox_event), 0) AS position FROM waiting
), neighbour AS (
    SELECT event.id, lead(event.id, 1, passed.position + 1) OVER (ORDER BY event.id) AS next_id
      FROM passed JOIN outbox_event AS event ON event.id <= passed.position
)
UPDATE outbox_cursor
   SET position = passed.position,
       gaps = coalesce((SELECT range_agg(int8range(id + 1, next_id)) FROM neighbour WHERE next_id > id + 1), '{}')
  FROM passed;

-- Returns whether the relay has published a row. The transaction number is not compared any more.
CREATE OR REPLACE FUNCTION outbox_is_published(relay outbox_cursor, xid xid8, id bigint) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT id <= relay.position AND NOT relay.gaps @> id
$$;

-- The server's timeline; empty where the server does not tell it, such as on Aurora.
CREATE OR REPLACE FUNCTION outbox_timeline() RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN left(pg_walfile_name(pg_current_wal_lsn()), 8);
EXCEPTION WHEN OTHERS THEN
    RETURN '';
END $$;

-- A position is as old as the database that holds it, so it can always be compared with the rows.
CREATE OR REPLACE FUNCTION outbox_cursor_is_valid(relay outbox_cursor) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT true
$$;

-- Returns why a partition must stay: 'absent', 'young', 'unpublished' or 'blocked'. NULL: it can leave the outbox.
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
    -- Ranges of ids, which the index finds. Without gaps, the second one is empty.
    EXECUTE format('SELECT EXISTS (SELECT FROM %1$s WHERE id > $1)
                        OR EXISTS (SELECT FROM %1$s WHERE id >= lower($2) AND id < upper($2) AND $2 @> id)', part)
       INTO found USING relay.position, relay.gaps;
    IF found THEN
        RETURN 'unpublished';
    END IF;
    -- The relay deletes a row from outbox_blocked once the event is published.
    EXECUTE format('SELECT EXISTS (SELECT FROM outbox_blocked JOIN %s USING (id))', part) INTO found;
    RETURN CASE WHEN found THEN 'blocked' END;
END $$;

-- Sets the cursor before the first row if the sequence gives ids again that the cursor has passed or that rows have: logical
-- replication copies rows, and not the positions of sequences. The lock waits for open writers, so that later rows get ids above all
-- others. Returns the greatest id; NULL if there was nothing to do, or if another relay has raised the epoch.
CREATE FUNCTION outbox_start_over(relay_epoch bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    last_id bigint;
BEGIN
    SELECT greatest(position, (SELECT max(id) FROM outbox_event)) INTO last_id FROM outbox_cursor;
    IF last_id <= coalesce(pg_sequence_last_value('outbox_event_id_seq'), 0) THEN
        RETURN NULL;
    END IF;
    LOCK TABLE outbox_event IN SHARE MODE;
    SELECT greatest(position, (SELECT max(id) FROM outbox_event)) INTO last_id FROM outbox_cursor;
    PERFORM setval('outbox_event_id_seq', last_id);
    UPDATE outbox_cursor SET position = 0, gaps = '{}', updated_at = clock_timestamp() WHERE epoch = relay_epoch;
    RETURN CASE WHEN FOUND THEN last_id END;
END $$;
REVOKE EXECUTE ON FUNCTION outbox_start_over(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION outbox_start_over(bigint) TO idem_service;
