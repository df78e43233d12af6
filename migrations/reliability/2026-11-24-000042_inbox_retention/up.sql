-- Retention of the inbox deletes the oldest entries. A BRIN index would cost an insert less, but deleted entries free space
-- that new ones fill: soon each block range would have old and new entries, and each look would read the whole table.
CREATE INDEX inbox_message_processed ON inbox_message (processed_at);
