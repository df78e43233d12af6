DROP TABLE outbox_cursor;
DROP TABLE outbox_lease;
DROP FUNCTION outbox_make_partitions(integer);
DROP TABLE outbox_event;
