-- The operation of a phased command, whose effect lies outside this database. The record has the stored response that every
-- retry gets, which may be 202. This row has the final reply, which may arrive after that response.
CREATE TABLE idempotency_operation (
    -- Equals the record's operation_id.
    operation_id    uuid        PRIMARY KEY,
    tenant_id       text        NOT NULL,
    client_id       text        NOT NULL,
    -- 'unknown': it is not known yet whether the command took effect.
    state           text        NOT NULL DEFAULT 'running'
        CHECK (state IN ('running', 'succeeded', 'failed', 'unknown')),
    -- The final reply. While the operation runs: the reply of the latest attempt, if that attempt provably had no effect.
    status          integer     CHECK (status BETWEEN 100 AND 599),
    headers         jsonb,
    body            bytea,
    -- How long response and key are kept, fixed at acceptance, because the code that concludes does not know the settings.
    reply_kept      interval    NOT NULL,
    tombstone_kept  interval    NOT NULL,
    -- The start of the latest attempt. A retry waits from here, up to the wait limit.
    started_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT operation_ended_has_reply
        CHECK (state NOT IN ('succeeded', 'failed') OR (status IS NOT NULL AND headers IS NOT NULL AND body IS NOT NULL))
);

-- A stored 202 has a status and an expiry like any other stored response.
ALTER TABLE idempotency_record
    ADD CONSTRAINT unknown_has_receipt
        CHECK (state <> 'unknown' OR (status IS NOT NULL AND expires_at IS NOT NULL));

GRANT SELECT, INSERT ON idempotency_operation TO idem_service;
-- Owner and retention of an operation cannot be changed.
GRANT UPDATE (state, status, headers, body, started_at, updated_at) ON idempotency_operation TO idem_service;
