REVOKE UPDATE (reason) ON stock_movement FROM idem_service;
