DROP TRIGGER ledger_transaction_balances ON ledger_transaction;
DROP TRIGGER ledger_entry_balances ON ledger_entry;
CREATE OR REPLACE FUNCTION ledger_must_balance() RETURNS trigger
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
CREATE CONSTRAINT TRIGGER ledger_transaction_balances AFTER INSERT ON ledger_transaction
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_must_balance();
CREATE CONSTRAINT TRIGGER ledger_entry_balances AFTER INSERT ON ledger_entry
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ledger_must_balance();
