-- Runs once, when the volume is new. Makes the same databases and roles as `devtool databases` does for ./dev.
-- The password of a role is its name. This is for development: only this machine reaches the server.

CREATE ROLE idem_service NOLOGIN; -- migrations grant rights to this role, because SQL cannot take a role's name as a parameter

-- The name of a service is that of its folder, which docker-compose.yml mounts.
\set services `cd /services && dirname */service.toml`

-- psql runs each statement that this query returns.
SELECT format(statement, name, name || '_owner', name || '_service')
FROM regexp_split_to_table(:'services' || ' provider', '\s+') AS name,
     unnest(ARRAY[
         'CREATE ROLE %2$I LOGIN PASSWORD %2$L IN ROLE pg_read_all_stats', -- for oldest_transaction_seconds()
         'CREATE ROLE %3$I LOGIN PASSWORD %3$L IN ROLE idem_service',
         'CREATE DATABASE %1$I OWNER %2$I',
         'REVOKE ALL ON DATABASE %1$I FROM PUBLIC',
         'GRANT CONNECT ON DATABASE %1$I TO %3$I'
     ]) WITH ORDINALITY AS statements (statement, place)
ORDER BY name, place
\gexec
