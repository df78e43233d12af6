REVOKE UPDATE ON idempotency_key FROM idem_service;
ALTER TABLE idempotency_key DROP COLUMN valid_until;
