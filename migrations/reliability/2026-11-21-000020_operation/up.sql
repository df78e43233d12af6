-- Phased commands: what came of an operation that reaches beyond this database. Its record is the receipt that every
-- retry gets; this is the final reply, which may come after a receipt of 202.
CREATE TABLE idempotency_operation (
    -- The record's.
    operation_id    uuid        PRIMARY KEY,
    tenant_id       text        NOT NULL,
    client_id       text        NOT NULL,
    -- 'unknown': whether it took effect is being found out.
    state           text        NOT NULL DEFAULT 'running'
        CHECK (state IN ('running', 'succeeded', 'failed', 'unknown')),
    -- The reply; while it runs, that of the latest try, if that proved to be without effect.
    status          smallint    CHECK (status BETWEEN 100 AND 599),
    headers         jsonb,
    body            bytea,
    -- How long receipt and key are kept, as promised when it was accepted: whoever concludes it need not know.
    reply_kept      interval    NOT NULL,
    tombstone_kept  interval    NOT NULL,
    -- When the latest try began: a retry waits for it no longer than the wait limit.
    started_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    CONSTRAINT operation_ended_has_reply
        CHECK (state NOT IN ('succeeded', 'failed') OR (status IS NOT NULL AND headers IS NOT NULL AND body IS NOT NULL))
);

-- A receipt of 202 is one like any other: it has its status, and its time.
ALTER TABLE idempotency_record
    ADD CONSTRAINT unknown_has_receipt
        CHECK (state <> 'unknown' OR (status IS NOT NULL AND expires_at IS NOT NULL));

GRANT SELECT, INSERT ON idempotency_operation TO idem_service;
-- Whose it is, and what it was promised, stays.
GRANT UPDATE (state, status, headers, body, started_at, updated_at) ON idempotency_operation TO idem_service;
