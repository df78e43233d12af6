ALTER TABLE idempotency_record DROP CONSTRAINT unknown_has_receipt;
DROP TABLE idempotency_operation;
