DROP FUNCTION outbox_drop_detached(integer);
DROP FUNCTION outbox_detach_default(date, integer, integer, bigint[]);
DROP FUNCTION outbox_detach_day(date, integer, integer);
