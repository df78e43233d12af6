ALTER TABLE review
    DROP CONSTRAINT review_resolution_check,
    ADD CONSTRAINT review_resolution_check CHECK (resolution IN ('captured', 'not_captured', 'refunded'));
DROP INDEX refund_automatic;
ALTER TABLE refund
    DROP CONSTRAINT requested_by_operation,
    DROP CONSTRAINT first_try_follows_none,
    DROP COLUMN try_number,
    DROP COLUMN follows,
    ADD CONSTRAINT requested_by_operation CHECK ((cause = 'requested') = (operation_id IS NOT NULL));
CREATE UNIQUE INDEX refund_automatic ON refund (payment_id) WHERE cause = 'order_cancelled';
