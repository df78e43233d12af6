-- A failed refund stays failed. A new try is a new refund that follows the failed one.
ALTER TABLE refund
    -- The failed refund that this one repeats. Because it is unique, a refund is repeated once.
    ADD COLUMN follows    uuid    UNIQUE REFERENCES refund (id),
    -- 1, or one more than the number of the refund that this one follows.
    ADD COLUMN try_number integer NOT NULL DEFAULT 1,
    ADD CONSTRAINT first_try_follows_none CHECK (try_number >= 1 AND (follows IS NULL) = (try_number = 1)),
    -- A refund that follows a client's refund has no operation: the client's command has ended.
    DROP CONSTRAINT requested_by_operation,
    ADD CONSTRAINT requested_by_operation CHECK ((cause = 'requested' AND follows IS NULL) = (operation_id IS NOT NULL));
-- At most one automatic refund of a payment, and the refunds that follow it.
DROP INDEX refund_automatic;
CREATE UNIQUE INDEX refund_automatic ON refund (payment_id) WHERE cause = 'order_cancelled' AND follows IS NULL;

-- 'retried': an operator had a failed refund made again.
ALTER TABLE review
    DROP CONSTRAINT review_resolution_check,
    ADD CONSTRAINT review_resolution_check CHECK (resolution IN ('captured', 'not_captured', 'refunded', 'retried'));
