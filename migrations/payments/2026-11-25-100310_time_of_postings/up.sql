-- One statement writes a posting, its payment and its event. They have the same time, so that a page of the order is sorted right.
ALTER TABLE ledger_transaction ALTER COLUMN recorded_at SET DEFAULT statement_timestamp();
