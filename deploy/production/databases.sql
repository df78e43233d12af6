-- Makes the databases of an installation on one server, with an owner and a service role for each:
--
--   psql -h pg-1 -U postgres -d postgres -v ON_ERROR_STOP=1 -f deploy/production/databases.sql
--
-- Run it from the root of a checkout, once, as a superuser or as a provider's administrator (CREATEROLE and CREATEDB). It sets no
-- password: `\password orders_owner` in psql does, for both roles of each database.

\set services `cd services && dirname */service.toml`

-- Migrations grant rights to this group by name. All databases of a server share it: a service role has the rights in each database
-- that it may connect to. The lines about CONNECT below therefore separate the services.
CREATE ROLE idem_service NOLOGIN;

-- psql runs each statement that this query returns.
SELECT format(statement, name, name || '_owner', name || '_service')
FROM regexp_split_to_table(:'services', '\s+') AS name,
     unnest(ARRAY[
         'CREATE ROLE %2$I LOGIN',
         -- oldest_transaction_seconds() then sees the sessions of all roles. Without the right its gauge is missing, as doctor says.
         'DO $$ BEGIN GRANT pg_read_all_stats TO %2$I;
          EXCEPTION WHEN insufficient_privilege THEN RAISE WARNING ''an administrator must GRANT pg_read_all_stats TO %2$I''; END $$',
         'CREATE ROLE %3$I LOGIN IN ROLE idem_service',
         'GRANT %2$I TO CURRENT_USER', -- an administrator who is no superuser gives a database only to a role that he may take
         'CREATE DATABASE %1$I OWNER %2$I ENCODING ''UTF8'' TEMPLATE template0',
         'REVOKE ALL ON DATABASE %1$I FROM PUBLIC',
         'GRANT CONNECT ON DATABASE %1$I TO %3$I',
         'REVOKE %2$I FROM CURRENT_USER'
     ]) WITH ORDINALITY AS statements (statement, place)
ORDER BY name, place
\gexec
