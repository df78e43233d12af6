-- A key is remembered for a while. Past its moment it is free: the next request under it is a new one.

ALTER TABLE idempotency_key
    ADD COLUMN valid_until timestamptz NOT NULL DEFAULT clock_timestamp() + interval '24 hours';
GRANT UPDATE ON idempotency_key TO idem_service;
