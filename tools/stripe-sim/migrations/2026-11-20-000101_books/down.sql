DROP TABLE idempotency_key;
DROP TABLE refund;
DROP TABLE charge;
DROP TABLE payment_intent;
DROP FUNCTION unix_now();
