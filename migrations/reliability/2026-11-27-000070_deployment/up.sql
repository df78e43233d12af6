-- System identifier and database. A restored dump has others; a promotion keeps them.
CREATE FUNCTION deployment_server() RETURNS text LANGUAGE sql STABLE AS $$
    SELECT format('%s/%s', system_identifier, (SELECT oid FROM pg_database WHERE datname = current_database()))
      FROM pg_control_system()
$$;

-- The deployment that this database belongs to. The first process that serves writes the row. A process whose settings have another
-- name, or that finds the row on another server, changes nothing outside until an operator adopts the database.
CREATE TABLE deployment (
    singleton  boolean     PRIMARY KEY DEFAULT true CHECK (singleton),
    -- deployment.name of the settings.
    name       text        NOT NULL,
    -- The id of this database among the members of its consumer group. Each adoption makes a new one.
    id         uuid        NOT NULL DEFAULT gen_random_uuid(),
    server     text        NOT NULL DEFAULT deployment_server(),
    adopted_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

GRANT SELECT, INSERT, UPDATE ON deployment TO idem_service;
