ALTER TABLE ledger_transaction ALTER COLUMN recorded_at SET DEFAULT clock_timestamp();
