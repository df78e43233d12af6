DROP INDEX refund_newest;
