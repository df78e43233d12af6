-- What each movement cost: an authorisation may be captured later, a capture costs a fee, and a refund may fail.

ALTER TABLE payment_intent
    DROP CONSTRAINT payment_intent_status_check,
    ADD CONSTRAINT payment_intent_status_check CHECK (status IN (
        'requires_payment_method', 'requires_confirmation', 'requires_action', 'processing', 'requires_capture',
        'succeeded', 'canceled')),
    ADD COLUMN capture_method  text   NOT NULL DEFAULT 'automatic'
        CHECK (capture_method IN ('automatic', 'automatic_async', 'manual')),
    ADD COLUMN amount_received bigint NOT NULL DEFAULT 0,
    ADD COLUMN error_code      text,
    ADD COLUMN description     text;
UPDATE payment_intent SET amount_received = amount WHERE status = 'succeeded';
UPDATE payment_intent SET error_code = 'card_declined' WHERE decline_code IS NOT NULL;
ALTER TABLE payment_intent
    ADD CONSTRAINT received_within_amount CHECK (amount_received BETWEEN 0 AND amount),
    ADD CONSTRAINT received_if_succeeded  CHECK (status <> 'succeeded' OR amount_received > 0);

ALTER TABLE charge
    DROP CONSTRAINT charge_status_check,
    ADD CONSTRAINT charge_status_check CHECK (status IN ('pending', 'succeeded', 'failed')),
    ADD COLUMN amount_captured     bigint NOT NULL DEFAULT 0,
    ADD COLUMN error_code          text,
    ADD COLUMN decline_code        text,
    ADD COLUMN balance_transaction text,
    ADD COLUMN metadata            jsonb  NOT NULL DEFAULT '{}';
UPDATE charge SET amount_captured = amount WHERE status = 'succeeded';
UPDATE charge SET metadata = payment_intent.metadata
  FROM payment_intent WHERE payment_intent.id = charge.payment_intent;
ALTER TABLE charge
    ADD CONSTRAINT capture_within_charge  CHECK (amount_captured BETWEEN 0 AND amount),
    ADD CONSTRAINT capture_of_success     CHECK (status = 'succeeded' OR amount_captured = 0),
    -- The last guard; the row lock under which refunds are counted is the first.
    ADD CONSTRAINT refunds_within_capture CHECK (amount_refunded BETWEEN 0 AND amount_captured);

ALTER TABLE refund
    DROP CONSTRAINT refund_status_check,
    ADD CONSTRAINT refund_status_check CHECK (status IN ('pending', 'succeeded', 'failed')),
    ADD COLUMN failure_reason              text,
    ADD COLUMN balance_transaction         text,
    ADD COLUMN failure_balance_transaction text,
    ADD CONSTRAINT a_failure_has_its_reason CHECK ((status = 'failed') = (failure_reason IS NOT NULL));
CREATE INDEX refund_by_charge ON refund (charge);

-- Every movement of the account's balance. Rows are only ever added.
CREATE TABLE balance_transaction (
    id       text PRIMARY KEY CHECK (id LIKE 'txn\_%'),
    position bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    type     text   NOT NULL CHECK (type IN ('charge', 'refund', 'refund_failure')),
    source   text   NOT NULL,
    amount   bigint NOT NULL,
    fee      bigint NOT NULL,
    net      bigint NOT NULL,
    currency text   NOT NULL,
    created  bigint NOT NULL DEFAULT unix_now(),
    CONSTRAINT net_is_what_is_left   CHECK (net = amount - fee),
    CONSTRAINT a_movement_stands_once UNIQUE (source, type)
);

-- What was charged and given back before there was a balance.
INSERT INTO balance_transaction (id, type, source, amount, fee, net, currency, created)
SELECT 'txn_' || replace(id, '_', ''), 'charge', id, amount, (amount * 29 + 500) / 1000 + 30,
       amount - ((amount * 29 + 500) / 1000 + 30), currency, created
  FROM charge WHERE status = 'succeeded' ORDER BY position;
UPDATE charge SET balance_transaction = 'txn_' || replace(id, '_', '') WHERE status = 'succeeded';
INSERT INTO balance_transaction (id, type, source, amount, fee, net, currency, created)
SELECT 'txn_' || replace(id, '_', ''), 'refund', id, -amount, 0, -amount, currency, created FROM refund ORDER BY position;
UPDATE refund SET balance_transaction = 'txn_' || replace(id, '_', '');

GRANT SELECT, INSERT ON balance_transaction TO idem_service;
GRANT UPDATE ON refund TO idem_service;
