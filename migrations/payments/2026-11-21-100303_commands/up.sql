-- Payments and refunds that clients create by POST.
ALTER TABLE payment
    -- The operation of the client's command; null if a message created the payment.
    ADD COLUMN operation_id uuid UNIQUE,
    -- The client's own name of the payment.
    ADD COLUMN reference    text;

ALTER TABLE refund
    ADD COLUMN operation_id uuid UNIQUE,
    -- The reason in the client's words.
    ADD COLUMN reason       text,
    DROP CONSTRAINT refund_payment_id_cause_key,
    -- 'order_cancelled': the automatic refund, without an operation. 'requested': a client's, with its operation.
    ADD CONSTRAINT refund_cause CHECK (cause IN ('order_cancelled', 'requested')),
    ADD CONSTRAINT requested_by_operation CHECK ((cause = 'requested') = (operation_id IS NOT NULL));
-- At most one automatic refund of a payment. Clients may make any number of refunds within the captured amount.
CREATE UNIQUE INDEX refund_automatic ON refund (payment_id) WHERE cause = 'order_cancelled';
CREATE INDEX refund_payment ON refund (payment_id);
CREATE INDEX payment_reference ON payment (tenant_id, reference, id DESC) WHERE reference IS NOT NULL;
CREATE INDEX refund_list ON refund (tenant_id, id DESC);

ALTER TABLE processor_call
    -- How often a worker failed to take the call with a permanent error, before it sent anything.
    ADD COLUMN faults integer NOT NULL DEFAULT 0 CHECK (faults >= 0);
GRANT UPDATE (faults) ON processor_call TO idem_service;
