ALTER TABLE processor_call DROP COLUMN faults;
DROP INDEX refund_list, refund_payment, refund_automatic;
-- Fails if a client has requested a refund, because the old table cannot hold it.
ALTER TABLE refund
    DROP CONSTRAINT requested_by_operation,
    DROP CONSTRAINT refund_cause,
    ADD CONSTRAINT refund_payment_id_cause_key UNIQUE (payment_id, cause),
    DROP COLUMN reason,
    DROP COLUMN operation_id;
ALTER TABLE payment DROP COLUMN reference, DROP COLUMN operation_id;
