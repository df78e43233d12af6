-- One row for each keyed request: its fingerprint, its state, and the status of the stored response.
CREATE TABLE idempotency_record (
    tenant_id           text        NOT NULL,
    client_id           text        NOT NULL,
    method              text        NOT NULL,
    route               text        NOT NULL,
    key                 text        NOT NULL CHECK (octet_length(key) BETWEEN 1 AND 255),
    fingerprint         bytea       NOT NULL CHECK (octet_length(fingerprint) = 32),
    fingerprint_version integer     NOT NULL,
    state               text        NOT NULL
        CHECK (state IN ('started', 'completed', 'unknown', 'failed_retryable', 'failed_terminal', 'expired')),
    operation_id        uuid        NOT NULL UNIQUE,
    status              integer     CHECK (status BETWEEN 100 AND 599),
    created_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    completed_at        timestamptz,
    -- A retry replays the response until expires_at, and is refused as expired until tombstone_until.
    expires_at          timestamptz,
    tombstone_until     timestamptz,
    PRIMARY KEY (tenant_id, client_id, method, route, key),
    CHECK (state NOT IN ('completed', 'failed_terminal') OR (status IS NOT NULL AND expires_at IS NOT NULL))
);
CREATE INDEX idempotency_record_expiry ON idempotency_record (expires_at);
CREATE INDEX idempotency_record_tombstone ON idempotency_record (tombstone_until);

-- The bytes of the stored response. A table of its own, because they are erased after 24 hours, the record after 30 days.
CREATE TABLE idempotency_snapshot (
    operation_id uuid  PRIMARY KEY,
    -- Ordered pairs of name and value, as sent.
    headers      jsonb NOT NULL,
    body         bytea NOT NULL
);

GRANT SELECT, INSERT, UPDATE, DELETE ON idempotency_record TO idem_service;
GRANT SELECT, INSERT, DELETE ON idempotency_snapshot TO idem_service;

-- An instance that does not migrate reads here whether the migrations have run.
GRANT SELECT ON __diesel_schema_migrations TO idem_service;
