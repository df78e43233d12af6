CREATE TABLE greeting (
    language text PRIMARY KEY,
    words    text NOT NULL
);
INSERT INTO greeting VALUES ('en', 'Hello');
GRANT SELECT ON greeting TO idem_service;
-- The role that serves may see which migrations are applied.
