-- The keys of tombstones cannot be restored: they could be used again.
DROP INDEX idempotency_operation_erase;
ALTER TABLE idempotency_operation DROP COLUMN erase_at;
DROP INDEX idempotency_record_expiry;
CREATE INDEX idempotency_record_expiry ON idempotency_record (expires_at);
CREATE INDEX idempotency_record_tombstone ON idempotency_record (tombstone_until);
DROP FUNCTION idempotency_drop_tombstone_partitions();
DROP FUNCTION idempotency_make_tombstone_partitions(timestamptz);
DROP FUNCTION idempotency_tombstone_partitions();
DROP FUNCTION idempotency_key_digest(text, text, text);
DROP TABLE idempotency_tombstone;
