CREATE OR REPLACE FUNCTION outbox_server() RETURNS text LANGUAGE sql STABLE AS $$
    SELECT format('%s/%s/%s', system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8),
                  (SELECT oid FROM pg_database WHERE datname = current_database()))
      FROM pg_control_system()
$$;

DROP FUNCTION outbox_timeline();
