-- Two examples have this table, and may share a database.
CREATE TABLE IF NOT EXISTS ticket (
    id   uuid PRIMARY KEY,
    seat text NOT NULL UNIQUE
);
GRANT SELECT, INSERT ON ticket TO idem_service;
