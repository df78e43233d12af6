-- Charges and refunds that clients ask for by POST.
ALTER TABLE payment
    -- The accepted command that wants it; null: a message wants it.
    ADD COLUMN operation_id uuid UNIQUE,
    -- The client's own name for it.
    ADD COLUMN reference    text;

ALTER TABLE refund
    ADD COLUMN operation_id uuid UNIQUE,
    -- In the client's words.
    ADD COLUMN reason       text,
    DROP CONSTRAINT refund_payment_id_cause_key,
    -- 'order_cancelled': the automatic one, without an operation. 'requested': a client's, with its own.
    ADD CONSTRAINT refund_cause CHECK (cause IN ('order_cancelled', 'requested')),
    ADD CONSTRAINT requested_by_operation CHECK ((cause = 'requested') = (operation_id IS NOT NULL));
-- At most one automatic refund of a payment; of clients' refunds, as many as the capture allows.
CREATE UNIQUE INDEX refund_automatic ON refund (payment_id) WHERE cause = 'order_cancelled';
CREATE INDEX refund_payment ON refund (payment_id);
CREATE INDEX refund_list ON refund (tenant_id, id DESC);

ALTER TABLE intent
    -- How often taking it failed by a fault that waiting does not mend, before anything was sent.
    ADD COLUMN faults integer NOT NULL DEFAULT 0 CHECK (faults >= 0);
GRANT UPDATE (faults) ON intent TO idem_service;
