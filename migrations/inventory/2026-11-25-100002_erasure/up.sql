-- The text of a client can be erased on request. Item, quantity and time of a movement never change.
GRANT UPDATE (reason) ON stock_movement TO idem_service;
-- Facts no longer repeat it, because they are never changed.
UPDATE audit_fact SET details = details - 'reason' WHERE action = 'stock.adjust';
