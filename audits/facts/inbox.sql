-- Which messages the consumer has entered.
-- Databases: orders, payments, inventory.
SELECT message_id, source, aggregate_id, sequence FROM inbox_message;
