-- The secret that the cursors of lists are sealed with: all instances share it, and nobody configures it.
-- To change it, run the INSERT's expression as an UPDATE, as the owner, and restart the instances; lists that are being
-- read then start again.
CREATE TABLE cursor_key (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    key       bytea   NOT NULL CHECK (octet_length(key) = 32)
);
-- Two random UUIDs have 244 random bits.
INSERT INTO cursor_key (key) VALUES (uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));

GRANT SELECT ON cursor_key TO idem_service;
