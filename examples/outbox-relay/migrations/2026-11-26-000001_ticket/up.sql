CREATE TABLE ticket (
    id   uuid PRIMARY KEY,
    seat text NOT NULL UNIQUE
);
GRANT SELECT, INSERT ON ticket TO idem_service;
