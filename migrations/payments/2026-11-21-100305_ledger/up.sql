-- The ledger: where the money is, in double entry. Rows are inserted and never changed.

ALTER TABLE payment
    -- The order is confirmed, so the captured amount is revenue.
    ADD COLUMN confirmed       boolean NOT NULL DEFAULT false,
    -- The processor's fee, in minor units of the processor account's currency, and the id of its balance transaction.
    ADD COLUMN fee             bigint,
    ADD COLUMN fee_currency    text,
    ADD COLUMN fee_transaction text,
    ADD CONSTRAINT confirmed_has_money CHECK (NOT confirmed OR (state = 'captured' AND order_id IS NOT NULL)),
    ADD CONSTRAINT fee_is_whole CHECK (num_nonnulls(fee, fee_currency, fee_transaction) IN (0, 3));

-- One movement of money and its cause.
CREATE TABLE ledger_transaction (
    id          bigint      GENERATED ALWAYS AS IDENTITY (CACHE 1) PRIMARY KEY,
    tenant_id   text        NOT NULL,
    kind        text        NOT NULL CHECK (kind IN ('capture', 'confirmation', 'refund', 'refund_reversal', 'fee')),
    -- Id of the payment, order, refund or balance transaction. Each kind is posted once for a cause.
    cause       text        NOT NULL,
    payment_id  uuid        NOT NULL REFERENCES payment (id),
    refund_id   uuid        REFERENCES refund (id),
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- The database transaction that wrote this row. Only that one may add entries: the trigger below compares it.
    xid         xid8        NOT NULL DEFAULT pg_current_xact_id(),
    UNIQUE (kind, cause),
    UNIQUE (id, tenant_id),
    CONSTRAINT refund_is_named CHECK ((refund_id IS NOT NULL) = (kind IN ('refund', 'refund_reversal')))
);
CREATE INDEX ledger_transaction_payment ON ledger_transaction (payment_id);
-- A payment has one capture, one confirmation and one fee, whatever their causes are named.
CREATE UNIQUE INDEX ledger_transaction_once ON ledger_transaction (payment_id, kind) WHERE refund_id IS NULL;

CREATE TABLE ledger_entry (
    transaction_id bigint   NOT NULL,
    line           smallint NOT NULL CHECK (line >= 1),
    tenant_id      text     NOT NULL,
    account        text     NOT NULL CHECK (account IN ('receivable', 'clearing', 'revenue', 'refunds', 'fees')),
    currency       text     NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    -- Minor units: a debit is positive, a credit is negative.
    amount         bigint   NOT NULL CHECK (amount <> 0),
    PRIMARY KEY (transaction_id, line),
    -- An entry has the tenant of its transaction.
    FOREIGN KEY (transaction_id, tenant_id) REFERENCES ledger_transaction (id, tenant_id)
);
-- Balances are sums over the entries of one tenant. This index answers them without reading the table.
CREATE INDEX ledger_entry_account ON ledger_entry (tenant_id, account, currency) INCLUDE (amount);

-- Refuses at COMMIT a ledger transaction that does not sum to zero in each currency, whatever statement wrote it. The
-- trigger is deferred, because the sum is complete only once all entries are inserted. The function runs as the owner
-- with a fixed search path, because otherwise rights or temporary tables of the writer could change what it reads.
CREATE FUNCTION ledger_must_balance() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    checked bigint;
    entries bigint;
    wrong   text;
BEGIN
    IF TG_TABLE_NAME = 'ledger_entry' THEN
        checked := NEW.transaction_id;
        -- Entries that sum to zero could still change a committed transaction, so only its own writer may add them.
        IF (SELECT xid FROM ledger_transaction WHERE id = checked) <> pg_current_xact_id() THEN
            RAISE EXCEPTION 'ledger transaction % is closed: no entry can be added to it', checked
                USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_transaction_is_closed';
        END IF;
    ELSE
        checked := NEW.id;
    END IF;
    SELECT count(*) INTO entries FROM ledger_entry WHERE transaction_id = checked;
    SELECT string_agg(format('%s %s', total, currency), ', ') INTO wrong
      FROM (SELECT currency, sum(amount) AS total FROM ledger_entry WHERE transaction_id = checked GROUP BY currency)
           AS sums
     WHERE total <> 0;
    IF entries < 2 OR wrong IS NOT NULL THEN
        RAISE EXCEPTION 'ledger transaction % does not balance: % entries, left over: %', checked, entries,
                coalesce(wrong, 'nothing')
            USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_transaction_balances';
    END IF;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION ledger_must_balance() FROM PUBLIC;
CREATE CONSTRAINT TRIGGER ledger_transaction_balances AFTER INSERT ON ledger_transaction
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_must_balance();
CREATE CONSTRAINT TRIGGER ledger_entry_balances AFTER INSERT ON ledger_entry
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_must_balance();

-- Post the payments and refunds that are older than the ledger. The third event of an order announces its end. If this
-- service has consumed three events and the order is not cancelled, the third one was the confirmation.
UPDATE payment SET confirmed = true
  FROM inbox_sequence AS heard
 WHERE heard.consumer = 'payments' AND heard.source = 'orders' AND heard.aggregate_id = payment.order_id
   AND heard.last_sequence >= 3 AND payment.state = 'captured' AND NOT payment.cancel_requested;
CREATE TEMPORARY TABLE happened ON COMMIT DROP AS
    SELECT 1 AS step, tenant_id, 'capture' AS kind, id::text AS cause, id AS payment_id, NULL::uuid AS refund_id,
           'receivable' AS debit, CASE WHEN order_id IS NULL THEN 'revenue' ELSE 'clearing' END AS credit, currency, amount
      FROM payment WHERE state = 'captured'
    UNION ALL
    SELECT 2, tenant_id, 'confirmation', order_id::text, id, NULL, 'clearing', 'revenue', currency, amount
      FROM payment WHERE confirmed
    UNION ALL
    SELECT 3, refund.tenant_id, 'refund', refund.id::text, payment.id, refund.id,
           CASE WHEN order_id IS NULL OR confirmed THEN 'refunds' ELSE 'clearing' END, 'receivable', currency, refund.amount
      FROM refund JOIN payment ON payment.id = refund.payment_id WHERE refund.state = 'succeeded';
INSERT INTO ledger_transaction (tenant_id, kind, cause, payment_id, refund_id)
SELECT tenant_id, kind, cause, payment_id, refund_id FROM happened ORDER BY payment_id, step;
INSERT INTO ledger_entry (transaction_id, line, tenant_id, account, currency, amount)
SELECT posted.id, side.line, posted.tenant_id, side.account, happened.currency, side.amount
  FROM happened
  JOIN ledger_transaction AS posted USING (kind, cause)
 CROSS JOIN LATERAL (VALUES (1, happened.debit, happened.amount), (2, happened.credit, -happened.amount))
       AS side (line, account, amount);

-- The service can only insert, and it cannot choose the id or the time of a row.
GRANT SELECT ON ledger_transaction, ledger_entry TO idem_service;
GRANT INSERT (tenant_id, kind, cause, payment_id, refund_id) ON ledger_transaction TO idem_service;
GRANT INSERT (transaction_id, line, tenant_id, account, currency, amount) ON ledger_entry TO idem_service;
