DROP TABLE processor_call;
DROP TABLE refund;
DROP TABLE payment;
