-- The server's timeline, which a promotion changes. The relay asks for it at every look, so it reads no table.
CREATE FUNCTION outbox_timeline() RETURNS text LANGUAGE sql STABLE AS $$
    SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)
$$;

CREATE OR REPLACE FUNCTION outbox_server() RETURNS text LANGUAGE sql STABLE AS $$
    SELECT format('%s/%s/%s', system_identifier, outbox_timeline(),
                  (SELECT oid FROM pg_database WHERE datname = current_database()))
      FROM pg_control_system()
$$;
