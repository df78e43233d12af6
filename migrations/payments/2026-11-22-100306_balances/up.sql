-- Balances of the ledger, so that a balance reads the latest postings only. The ledger stays the truth: its rows never change,
-- and an audit compares these sums with them.

-- The sums of all entries of the ledger transactions up to ledger_mark.folded_id.
CREATE TABLE ledger_balance (
    tenant_id text   NOT NULL,
    account   text   NOT NULL,
    currency  text   NOT NULL,
    debit     bigint NOT NULL CHECK (debit >= 0),
    credit    bigint NOT NULL CHECK (credit >= 0),
    PRIMARY KEY (tenant_id, account, currency)
);

CREATE TABLE ledger_mark (
    singleton  boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    -- Every ledger transaction up to this id has been committed or rolled back.
    settled_id bigint  NOT NULL DEFAULT 0,
    -- The high-water mark of ledger_balance.
    folded_id  bigint  NOT NULL DEFAULT 0,
    CHECK (folded_id BETWEEN 0 AND settled_id)
);
INSERT INTO ledger_mark DEFAULT VALUES;

-- No statement reads it any more.
DROP INDEX ledger_entry_account;

-- Ids are drawn before COMMIT, so a smaller id may be committed after a larger one. The lock waits for open writers; then every
-- id that is stored is final, and later transactions draw larger ids. Returns the number of ids that can be folded. Both
-- functions run as the owner, because the service may not write these tables.
CREATE FUNCTION ledger_settle() RETURNS bigint
    -- While it waits for open writers, new writers wait behind it: a caller tries again instead.
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '50ms' AS $$
DECLARE
    left_to_fold bigint;
BEGIN
    LOCK TABLE ledger_transaction IN SHARE MODE;
    UPDATE ledger_mark
       SET settled_id = greatest(settled_id, (SELECT coalesce(max(id), 0) FROM ledger_transaction))
    RETURNING settled_id - folded_id INTO left_to_fold;
    RETURN left_to_fold;
END $$;

-- Adds the entries of the next ids to the balances. Returns the number of ids that are left. Instances take turns, because each
-- one locks the mark first.
CREATE FUNCTION ledger_fold(ids bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    mark    ledger_mark;
    last_id bigint;
BEGIN
    SELECT * INTO STRICT mark FROM ledger_mark FOR UPDATE;
    last_id := least(mark.settled_id, mark.folded_id + ids);
    INSERT INTO ledger_balance AS balance (tenant_id, account, currency, debit, credit)
    SELECT tenant_id, account, currency, sum(greatest(amount, 0)), sum(greatest(-amount, 0))
      FROM ledger_entry
     WHERE transaction_id > mark.folded_id AND transaction_id <= last_id
     GROUP BY tenant_id, account, currency
    ON CONFLICT (tenant_id, account, currency)
    DO UPDATE SET debit = balance.debit + excluded.debit, credit = balance.credit + excluded.credit;
    UPDATE ledger_mark SET folded_id = last_id;
    RETURN mark.settled_id - last_id;
END $$;

GRANT SELECT ON ledger_balance, ledger_mark TO idem_service;
REVOKE EXECUTE ON FUNCTION ledger_settle(), ledger_fold(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger_settle(), ledger_fold(bigint) TO idem_service;

-- The period of the next scheduled reconciliation begins its length before this time, and not before the present. So no
-- period is left out if no instance ran for longer than that.
ALTER TABLE reconciliation ADD COLUMN compared_until timestamptz;
GRANT UPDATE (compared_until) ON reconciliation TO idem_service;

-- The reconciliation reads the calls of a period.
CREATE INDEX processor_call_sent ON processor_call (kind, sent_since, id) WHERE sent_since IS NOT NULL;
