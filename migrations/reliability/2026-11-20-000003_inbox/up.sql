-- One row for each message that a consumer has applied, ignored, held or parked. The primary key drops duplicates.
CREATE TABLE inbox_message (
    consumer     text        NOT NULL,
    message_id   uuid        NOT NULL,
    source       text        NOT NULL,
    aggregate_id uuid        NOT NULL,
    sequence     bigint      NOT NULL,
    processed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (consumer, message_id)
);
-- Finds another message under the same number, if the sender has written a second history after a restore.
CREATE INDEX inbox_message_number ON inbox_message (aggregate_id, sequence);

-- The last applied sequence of each aggregate. It still detects a duplicate after the message's id has been trimmed.
CREATE TABLE inbox_sequence (
    consumer      text   NOT NULL,
    source        text   NOT NULL,
    aggregate_id  uuid   NOT NULL,
    last_sequence bigint NOT NULL,
    PRIMARY KEY (consumer, source, aggregate_id)
);

-- Stored messages: 'held' until the missing message of their aggregate arrives, 'parked' until an operator decides.
CREATE TABLE inbox_parked (
    consumer     text        NOT NULL,
    message_id   uuid        NOT NULL,
    source       text        NOT NULL,
    aggregate_id uuid        NOT NULL,
    sequence     bigint      NOT NULL,
    state        text        NOT NULL CHECK (state IN ('held', 'parked')),
    topic        text        NOT NULL,
    partition    integer     NOT NULL,
    record_offset bigint     NOT NULL,
    -- Ordered pairs of name and value.
    headers      jsonb       NOT NULL,
    payload      bytea       NOT NULL,
    error        text,
    -- The kind of the error, if the message is parked. Messages with the same reason failed alike.
    reason       text,
    parked_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (consumer, message_id)
);
CREATE INDEX inbox_parked_aggregate ON inbox_parked (consumer, source, aggregate_id, sequence);

-- The partitions where a consumer waits for an operator. It writes the row again every few seconds while it waits.
CREATE TABLE inbox_stopped_partition (
    consumer      text        NOT NULL,
    topic         text        NOT NULL,
    partition     integer     NOT NULL,
    -- 'unreadable': Kafka's client cannot read the record. 'alike': more aggregates fail for the same reason than may be parked.
    cause         text        NOT NULL CHECK (cause IN ('unreadable', 'alike')),
    record_offset bigint      NOT NULL,
    error         text        NOT NULL,
    seen_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- An operator lets the consumer continue at this offset.
    skip_to       bigint      CHECK (skip_to > record_offset),
    PRIMARY KEY (consumer, topic, partition)
);

GRANT SELECT, INSERT, DELETE ON inbox_message TO idem_service;
GRANT SELECT, INSERT, UPDATE ON inbox_sequence TO idem_service;
GRANT SELECT, INSERT, UPDATE, DELETE ON inbox_parked TO idem_service;
GRANT SELECT, INSERT, UPDATE ON inbox_stopped_partition TO idem_service;
