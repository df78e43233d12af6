-- The secret that signs list cursors. It is in the database because all instances need the same one without configuration.
-- To change it, run the INSERT's expression as an UPDATE, as the owner, and restart the instances. Cursors that clients hold
-- are then refused, and their lists start again.
CREATE TABLE cursor_key (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    key       bytea   NOT NULL CHECK (octet_length(key) = 32)
);
-- Two random UUIDs contain 244 random bits.
INSERT INTO cursor_key (key) VALUES (uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));

GRANT SELECT ON cursor_key TO idem_service;
