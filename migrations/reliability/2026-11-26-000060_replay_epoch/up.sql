-- One row: the last transaction that changed or removed a completed record before its response expired. A process that keeps
-- responses in memory reads the row every two seconds, and keeps them only while it stays the same.
CREATE TABLE idempotency_epoch (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    raised_by bigint NOT NULL
);
INSERT INTO idempotency_epoch (raised_by) VALUES (0);

-- Raises the epoch once in a transaction, however many responses it takes back. Runs as the owner, so that the service cannot
-- set the epoch back.
CREATE FUNCTION idempotency_raise_epoch() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    this_transaction bigint := pg_current_xact_id()::text::bigint;
BEGIN
    UPDATE idempotency_epoch SET raised_by = this_transaction WHERE raised_by <> this_transaction;
    RETURN NULL;
END $$;

-- A trigger, so that neither a program nor a person at a prompt can change a record and forget the epoch. Neither a command nor
-- the move to the tombstones fires it.
CREATE TRIGGER idempotency_record_taken_back AFTER UPDATE OR DELETE ON idempotency_record FOR EACH ROW
    WHEN (OLD.state = 'completed' AND OLD.expires_at > clock_timestamp())
    EXECUTE FUNCTION idempotency_raise_epoch();

GRANT SELECT ON idempotency_epoch TO idem_service;
