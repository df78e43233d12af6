-- The keys whose responses have expired. A row refuses its key until tombstone_until. Whole partitions are dropped, so the
-- rows need no vacuum. It has no tenant, client, key or fingerprint: the digest finds a key, and does not reveal it.
CREATE TABLE idempotency_tombstone (
    -- idempotency_key_digest(). Of type uuid, because uuid is the shortest type of 16 bytes.
    key_digest      uuid        NOT NULL,
    operation_id    uuid        NOT NULL,
    created_at      timestamptz NOT NULL,
    completed_at    timestamptz,
    expires_at      timestamptz NOT NULL,
    tombstone_until timestamptz NOT NULL,
    status          smallint,
    method          text        NOT NULL,
    route           text        NOT NULL
) PARTITION BY RANGE (tombstone_until);
-- The only index. A key that was used on several routes has one row for each.
CREATE INDEX idempotency_tombstone_key ON idempotency_tombstone (key_digest);

-- The first 16 bytes of SHA-256 over tenant, client and key, each framed by its length as in the program
-- (`key_digest` in `keyed_request.rs`).
CREATE FUNCTION idempotency_key_digest(tenant_id text, client_id text, key text) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT encode(substr(sha256(
        int8send(octet_length(tenant_id)) || convert_to(tenant_id, 'UTF8') ||
        int8send(octet_length(client_id)) || convert_to(client_id, 'UTF8') ||
        int8send(octet_length(key)) || convert_to(key, 'UTF8')), 1, 16), 'hex')::uuid
$$;

-- The name of a partition ends with the day, in UTC, on which its last key is free again: idempotency_tombstone_20261231.
CREATE FUNCTION idempotency_tombstone_partitions() RETURNS TABLE (name text, free_from timestamptz)
    LANGUAGE sql STABLE AS $$
    SELECT relname::text, to_date(right(relname, 8), 'YYYYMMDD')::timestamp AT TIME ZONE 'UTC'
      FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
     WHERE inhparent = 'idempotency_tombstone'::regclass
$$;

-- Makes the partitions up to this time, and returns their number. Each is as long as the time from now, so that a lookup
-- reads two partitions for any retention. The first one begins at -infinity, and every other where the last one
-- ends: a later setting finds no gap. Runs as the owner, so that the service needs no right to create tables.
CREATE FUNCTION idempotency_make_tombstone_partitions(until timestamptz) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '50ms' AS $$
DECLARE
    today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    last_day date := (until AT TIME ZONE 'UTC')::date;
    width integer := greatest(1, last_day - today + 1);
    made integer := 0;
    lower_day date;
    upper_day date;
    name text;
BEGIN
    IF until IS NULL THEN
        RETURN 0;
    END IF;
    -- Waits for another instance that makes or drops partitions.
    PERFORM pg_advisory_xact_lock(hashtextextended('idempotency_tombstone', 0));
    SELECT max(free_from AT TIME ZONE 'UTC')::date INTO lower_day FROM idempotency_tombstone_partitions();
    WHILE lower_day IS NULL OR lower_day <= last_day LOOP
        upper_day := coalesce(lower_day, last_day) + width;
        name := 'idempotency_tombstone_' || to_char(upper_day, 'YYYYMMDD');
        EXECUTE format('CREATE TABLE %I (LIKE idempotency_tombstone INCLUDING ALL)', name);
        -- ATTACH does not lock readers and writers out, as CREATE TABLE … PARTITION OF does.
        EXECUTE format('ALTER TABLE idempotency_tombstone ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%L)', name,
            coalesce(quote_literal(lower_day::timestamp AT TIME ZONE 'UTC'), 'MINVALUE'),
            upper_day::timestamp AT TIME ZONE 'UTC');
        made := made + 1;
        lower_day := upper_day;
    END LOOP;
    RETURN made;
END $$;

-- Drops the partitions whose keys are all free again, and returns their number. While it waits for open lookups, new ones
-- wait behind it: it gives up after 50 ms, and the caller tries again.
CREATE FUNCTION idempotency_drop_tombstone_partitions() RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '50ms' AS $$
DECLARE
    partition_name text;
    dropped integer := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('idempotency_tombstone', 0));
    FOR partition_name IN SELECT name FROM idempotency_tombstone_partitions() WHERE free_from <= clock_timestamp() LOOP
        EXECUTE format('DROP TABLE %I', partition_name);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END $$;

-- The records that can move. Records without a final outcome are not in the index: a year-old one costs no look.
DROP INDEX idempotency_record_expiry;
CREATE INDEX idempotency_record_expiry ON idempotency_record (expires_at)
    WHERE state IN ('completed', 'failed_terminal', 'expired');
-- Tombstones have a table of their own now, so commands need not write this index.
DROP INDEX idempotency_record_tombstone;

-- When an operation that has ended is erased; NULL while it is open.
ALTER TABLE idempotency_operation ADD COLUMN erase_at timestamptz;
UPDATE idempotency_operation SET erase_at = updated_at + tombstone_kept WHERE state IN ('succeeded', 'failed');
CREATE INDEX idempotency_operation_erase ON idempotency_operation (erase_at) WHERE erase_at IS NOT NULL;

GRANT SELECT, INSERT ON idempotency_tombstone TO idem_service;
GRANT DELETE, UPDATE (erase_at) ON idempotency_operation TO idem_service;
REVOKE EXECUTE ON FUNCTION idempotency_make_tombstone_partitions(timestamptz), idempotency_drop_tombstone_partitions()
    FROM PUBLIC;
GRANT EXECUTE ON FUNCTION idempotency_make_tombstone_partitions(timestamptz), idempotency_drop_tombstone_partitions()
    TO idem_service;
