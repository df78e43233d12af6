-- The messages that the consumer has entered in its inbox.
-- Databases: of each service.
SELECT message_id, source, aggregate_id, sequence FROM inbox_message;
