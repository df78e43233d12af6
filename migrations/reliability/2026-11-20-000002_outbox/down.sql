DROP FUNCTION outbox_rebase(bigint);
DROP FUNCTION outbox_restored_since(timestamptz);
DROP FUNCTION outbox_server();
DROP FUNCTION outbox_is_published(outbox_cursor, xid8, bigint);
DROP TABLE outbox_blocked;
DROP TABLE outbox_cursor;
DROP TABLE outbox_lease;
DROP FUNCTION outbox_make_partitions(integer);
DROP TABLE outbox_event;
