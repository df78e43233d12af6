DROP TABLE intent;
DROP TABLE refund;
DROP TABLE payment;
