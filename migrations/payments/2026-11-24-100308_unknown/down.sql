DROP INDEX refund_unknown;
DROP INDEX payment_unknown;
