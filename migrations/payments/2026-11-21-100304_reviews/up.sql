-- A review: a question about money that only a person can answer. It is open until an operator resolves it.
CREATE TABLE review (
    id          uuid        PRIMARY KEY,
    -- Null for an orphan: an object at the processor that no tenant requested.
    tenant_id   text,
    subject     text        NOT NULL CHECK (subject IN ('payment', 'refund', 'orphan')),
    -- Our id of a payment or refund; the processor's id of an orphan.
    subject_id  text        NOT NULL,
    payment_id  uuid        REFERENCES payment (id),
    reason      text        NOT NULL CHECK (reason IN (
        'not_found', 'other_amount', 'key_mismatch', 'contradicted', 'refund_failed', 'refund_returned',
        'orphan', 'amount_differs', 'missing_there', 'cannot_be_taken')),
    -- What the service observed, for the operator. It never contains a key or a card.
    details     jsonb       NOT NULL DEFAULT '{}',
    opened_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    resolution  text        CHECK (resolution IN ('captured', 'not_captured', 'refunded')),
    resolved_by text,
    note        text,
    resolved_at timestamptz,
    CONSTRAINT orphan_is_nobodys CHECK ((subject = 'orphan') = (payment_id IS NULL)),
    CONSTRAINT resolved_by_somebody_for_a_reason CHECK (
        (resolution IS NULL) = (resolved_by IS NULL)
        AND (resolution IS NULL) = (note IS NULL)
        AND (resolution IS NULL) = (resolved_at IS NULL))
);
-- One open review for each subject and reason, however often the problem is found.
CREATE UNIQUE INDEX review_open ON review (subject, subject_id, reason) WHERE resolution IS NULL;
CREATE INDEX review_subject ON review (subject_id, reason);

-- A webhook event of the processor. An event only triggers a lookup; its content is never used. Because the processor
-- repeats the idempotency key of the request in the body, only a hash of the body is stored. A payment has about three
-- events. Nothing deletes old rows yet.
CREATE TABLE webhook_event (
    -- The processor's id of the event. Because it is the primary key, the same event takes effect once.
    id          text        PRIMARY KEY,
    kind        text        NOT NULL,
    -- The processor's id of the event's object.
    object_id   text,
    -- Tenant and processor call, if the event is about one of ours. There is no foreign key, because its check would
    -- lock the call before its payment.
    tenant_id   text,
    call_id     uuid,
    -- SHA-256 of the body.
    body_hash   bytea       NOT NULL CHECK (octet_length(body_hash) = 32),
    -- By the processor's clock.
    created_at  timestamptz NOT NULL,
    received_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- When the next scheduled reconciliation is due. The instance that moves due_at runs the reconciliation.
CREATE TABLE reconciliation (
    singleton boolean     PRIMARY KEY DEFAULT true CHECK (singleton),
    due_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO reconciliation DEFAULT VALUES;

GRANT SELECT, UPDATE (due_at) ON reconciliation TO idem_service;
GRANT SELECT, INSERT ON review, webhook_event TO idem_service;
-- The service can only add a resolution to a review. It cannot change what was observed.
GRANT UPDATE (resolution, resolved_by, note, resolved_at) ON review TO idem_service;
