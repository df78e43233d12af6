DROP TABLE reconciliation;
DROP TABLE webhook_event;
DROP TABLE review;
