-- What only a person can find out or put right. It stays open until somebody says what became of the money.
CREATE TABLE review (
    id          uuid        PRIMARY KEY,
    -- Null: an object at the processor that no tenant asked for.
    tenant_id   text,
    subject     text        NOT NULL CHECK (subject IN ('payment', 'refund', 'orphan')),
    -- Our id of the payment or refund; the processor's id of an orphan.
    subject_id  text        NOT NULL,
    payment_id  uuid        REFERENCES payment (id),
    reason      text        NOT NULL CHECK (reason IN (
        'not_found', 'other_amount', 'key_mismatch', 'contradicted', 'refund_failed', 'refund_returned',
        'orphan', 'amount_differs', 'missing_there', 'poisoned')),
    -- What was seen, for whoever looks into it. Never a key or a card.
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
-- However often it is noticed, people are asked once at a time.
CREATE UNIQUE INDEX review_open ON review (subject, subject_id, reason) WHERE resolution IS NULL;
CREATE INDEX review_subject ON review (subject_id, reason);
CREATE INDEX review_payment ON review (payment_id) WHERE payment_id IS NOT NULL;

-- What the processor told us of its own accord. Never believed, only a reason to ask: so the body, in which the
-- processor repeats the key of the request, is not kept. Some three rows a payment; nothing trims them yet.
CREATE TABLE webhook_event (
    -- The processor's id of the event: the same event counts once.
    id          text        PRIMARY KEY,
    kind        text        NOT NULL,
    -- The processor's id of what it is about.
    object_id   text,
    -- Ours, if it is about an intent of ours. No foreign key: its check would lock the intent before its payment.
    tenant_id   text,
    intent_id   uuid,
    -- SHA-256.
    body_hash   bytea       NOT NULL CHECK (octet_length(body_hash) = 32),
    -- By the processor's clock.
    created_at  timestamptz NOT NULL,
    received_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX webhook_event_intent ON webhook_event (intent_id) WHERE intent_id IS NOT NULL;

-- When our books are compared with the processor's next; whoever moves it does the work.
CREATE TABLE reconciliation (
    singleton boolean     PRIMARY KEY DEFAULT true CHECK (singleton),
    due_at    timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO reconciliation DEFAULT VALUES;

GRANT SELECT, UPDATE (due_at) ON reconciliation TO idem_service;
GRANT SELECT, INSERT ON review, webhook_event TO idem_service;
-- What was noticed cannot be changed, only what a person says to it.
GRANT UPDATE (resolution, resolved_by, note, resolved_at) ON review TO idem_service;
