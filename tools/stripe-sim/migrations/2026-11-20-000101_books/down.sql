DROP TABLE idempotency_key, delivery, event, bank_decision, balance_transaction, refund, charge, payment_intent;
DROP FUNCTION unix_now();
