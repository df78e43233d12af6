-- One business fact for each accepted intent: who did what to whom, and by which request or message.
CREATE TABLE audit_fact (
    id           uuid        PRIMARY KEY,
    tenant_id    text        NOT NULL,
    -- The client, or '@system'.
    actor        text        NOT NULL,
    action       text        NOT NULL,
    subject_type text        NOT NULL,
    subject_id   text        NOT NULL,
    -- The operation that was accepted: a replay has the same, and adds no fact.
    operation_id uuid        NOT NULL UNIQUE,
    details      jsonb       NOT NULL,
    recorded_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX audit_fact_subject ON audit_fact (subject_type, subject_id);

-- Append-only for the service: history is not rewritten.
GRANT SELECT, INSERT ON audit_fact TO idem_service;
