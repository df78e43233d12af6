-- The relay that may publish, and the last day that retention has dropped from the outbox.
-- Databases: orders, inventory, payments.
SELECT owner, lease_until > clock_timestamp() AS is_active, (SELECT max(day)::text FROM outbox_dropped_day) AS dropped_until
  FROM outbox_lease;
