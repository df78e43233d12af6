ALTER TABLE processor_call DROP COLUMN faults;
DROP INDEX refund_list, refund_payment, refund_automatic;
-- Fails where clients have asked for refunds: then there is no way back without losing some.
ALTER TABLE refund
    DROP CONSTRAINT requested_by_operation,
    DROP CONSTRAINT refund_cause,
    ADD CONSTRAINT refund_payment_id_cause_key UNIQUE (payment_id, cause),
    DROP COLUMN reason,
    DROP COLUMN operation_id;
ALTER TABLE payment DROP COLUMN reference, DROP COLUMN operation_id;
