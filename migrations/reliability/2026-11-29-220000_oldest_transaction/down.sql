DROP FUNCTION oldest_transaction_seconds();
