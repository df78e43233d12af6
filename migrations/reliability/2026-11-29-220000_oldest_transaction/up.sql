-- The age of the oldest open transaction of a client in this database. NULL if the owner of this function may not see the sessions of
-- other roles: GRANT pg_read_all_stats TO the owner. The service has no such right, because with it a role reads the statements of all.
CREATE FUNCTION oldest_transaction_seconds() RETURNS float8
    LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT greatest(extract(epoch FROM clock_timestamp() - min(xact_start)), 0)::float8
      FROM pg_stat_activity
     WHERE datname = current_database() AND backend_type = 'client backend'
    HAVING pg_has_role('pg_read_all_stats', 'USAGE') $$;
REVOKE EXECUTE ON FUNCTION oldest_transaction_seconds() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION oldest_transaction_seconds() TO idem_service;
