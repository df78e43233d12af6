DROP TABLE ledger_entry, ledger_transaction;
DROP FUNCTION ledger_must_balance();
ALTER TABLE payment
    DROP COLUMN confirmed, DROP COLUMN fee, DROP COLUMN fee_currency, DROP COLUMN fee_transaction;
