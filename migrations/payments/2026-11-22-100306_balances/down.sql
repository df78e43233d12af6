DROP INDEX processor_call_sent;
ALTER TABLE reconciliation DROP COLUMN compared_until;
DROP FUNCTION ledger_fold(bigint), ledger_settle();
DROP TABLE ledger_mark, ledger_balance;
CREATE INDEX ledger_entry_account ON ledger_entry (tenant_id, account, currency) INCLUDE (amount);
