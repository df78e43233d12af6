-- One fact for each accepted command: which actor did what to which subject, by which operation.
CREATE TABLE audit_fact (
    id           uuid        PRIMARY KEY,
    tenant_id    text        NOT NULL,
    -- The client, '@system' for jobs and messages, or '@operator:NAME'.
    actor        text        NOT NULL,
    action       text        NOT NULL,
    subject_type text        NOT NULL,
    subject_id   text        NOT NULL,
    -- UNIQUE, so that a repeated command cannot add a second fact.
    operation_id uuid        NOT NULL UNIQUE,
    details      jsonb       NOT NULL,
    recorded_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- The service can append facts, and cannot change or delete them.
GRANT SELECT, INSERT ON audit_fact TO idem_service;
