-- Promise 9: each change by a PUT has one audit fact and one event, although a PUT has no key.
-- Database: inventory.
SELECT format('%s of %s is at version %s, but has %s facts and %s events', item.sku, item.tenant_id, item.version,
              facts.number, events.number) AS violation
  FROM item
  CROSS JOIN LATERAL (
      SELECT count(*) AS number FROM audit_fact WHERE action = 'item.put' AND subject_id = item.id::text) AS facts
  CROSS JOIN LATERAL (
      SELECT count(*) AS number FROM outbox_event WHERE aggregate_type = 'item' AND aggregate_id = item.id) AS events
 WHERE facts.number <> item.version OR events.number <> item.version;
