REVOKE UPDATE ON refund FROM idem_service;
DROP TABLE balance_transaction;
DROP INDEX refund_by_charge;
ALTER TABLE refund
    DROP CONSTRAINT a_failure_has_its_reason,
    DROP CONSTRAINT refund_status_check,
    DROP COLUMN failure_reason,
    DROP COLUMN balance_transaction,
    DROP COLUMN failure_balance_transaction,
    ADD CONSTRAINT refund_status_check CHECK (status = 'succeeded');
ALTER TABLE charge
    DROP CONSTRAINT charge_status_check,
    DROP COLUMN amount_captured,
    DROP COLUMN error_code,
    DROP COLUMN decline_code,
    DROP COLUMN balance_transaction,
    DROP COLUMN metadata,
    ADD CONSTRAINT charge_status_check CHECK (status IN ('succeeded', 'failed'));
ALTER TABLE payment_intent
    DROP CONSTRAINT payment_intent_status_check,
    DROP COLUMN capture_method,
    DROP COLUMN amount_received,
    DROP COLUMN error_code,
    DROP COLUMN description,
    ADD CONSTRAINT payment_intent_status_check
        CHECK (status IN ('requires_payment_method', 'requires_confirmation', 'succeeded', 'canceled'));
