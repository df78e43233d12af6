DROP INDEX inbox_message_processed;
