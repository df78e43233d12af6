REVOKE DELETE ON webhook_event FROM idem_service;
DROP INDEX webhook_event_received;
