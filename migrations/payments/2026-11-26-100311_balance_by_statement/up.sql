-- The ledger is checked once for each statement instead of once for each row (decision 0037). An order has nine rows in the ledger, and a batch
-- writes those of many orders. A posting and its entries are therefore written by one statement.
DROP TRIGGER ledger_transaction_balances ON ledger_transaction;
DROP TRIGGER ledger_entry_balances ON ledger_entry;

-- Refuses a statement after which a ledger transaction has no entries or does not sum to zero in each currency. An amount is
-- never zero, so entries that sum to zero are two or more. The function runs as the owner with a fixed search path, because
-- otherwise rights or temporary tables of the writer could change what it reads.
CREATE OR REPLACE FUNCTION ledger_must_balance() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    wrong text;
BEGIN
    IF TG_TABLE_NAME = 'ledger_transaction' THEN
        SELECT string_agg(format('%s has no entries', id), ', ') INTO wrong
          FROM added
         WHERE NOT EXISTS (SELECT FROM ledger_entry WHERE transaction_id = added.id);
    ELSE
        -- Entries that sum to zero could still change a committed transaction, so only its own writer may add them.
        SELECT string_agg(DISTINCT posted.id::text, ', ') INTO wrong
          FROM added JOIN ledger_transaction AS posted ON posted.id = added.transaction_id
         WHERE posted.xid <> pg_current_xact_id();
        IF wrong IS NOT NULL THEN
            RAISE EXCEPTION 'ledger transactions are closed, and no entry can be added: %', wrong
                USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_transaction_is_closed';
        END IF;
        SELECT string_agg(format('%s sums to %s %s', changed.transaction_id, total, currency), ', ') INTO wrong
          FROM (SELECT DISTINCT transaction_id FROM added) AS changed
         CROSS JOIN LATERAL (SELECT currency, sum(amount) AS total FROM ledger_entry
                              WHERE transaction_id = changed.transaction_id GROUP BY currency) AS sums
         WHERE total <> 0;
    END IF;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'ledger transactions do not balance: %', wrong
            USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_transaction_balances';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER ledger_transaction_balances AFTER INSERT ON ledger_transaction
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION ledger_must_balance();
CREATE TRIGGER ledger_entry_balances AFTER INSERT ON ledger_entry
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION ledger_must_balance();
