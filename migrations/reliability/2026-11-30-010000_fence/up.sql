-- The keys under which no command is executed any more, because their client asked for that. A row is never deleted: the request that
-- it refuses may arrive at any time. It has the digest of a tombstone, which finds a key and does not reveal it.
CREATE TABLE idempotency_fence (
    key_digest uuid        PRIMARY KEY, -- idempotency_key_digest()
    fenced_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
GRANT SELECT, INSERT ON idempotency_fence TO idem_service;
