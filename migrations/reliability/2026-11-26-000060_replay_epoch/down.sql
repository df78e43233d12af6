DROP TRIGGER idempotency_record_taken_back ON idempotency_record;
DROP FUNCTION idempotency_raise_epoch();
DROP TABLE idempotency_epoch;
