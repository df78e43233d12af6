-- Old webhook events are deleted once nothing is left to be done with them.
CREATE INDEX webhook_event_received ON webhook_event (received_at);
GRANT DELETE ON webhook_event TO idem_service;
