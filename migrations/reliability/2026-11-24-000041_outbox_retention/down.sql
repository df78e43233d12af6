DROP FUNCTION outbox_delete_default(date, integer, bigint[]);
DROP FUNCTION outbox_drop_day(date, integer, bigint, bigint, bigint);
DROP FUNCTION outbox_reason_to_keep(date, integer);
DROP FUNCTION outbox_cursor_is_valid(outbox_cursor);
DROP FUNCTION outbox_days_over(integer);
DROP FUNCTION outbox_day_is_over(date, integer);
DROP TABLE outbox_dropped_day;
