DROP TABLE idempotency_snapshot;
DROP TABLE idempotency_record;
