-- Promise 9: each change by a PUT has one audit fact and one event, although a PUT has no key.
-- Database: inventory.
WITH facts AS (
    SELECT subject_id, count(*) AS number FROM audit_fact WHERE action = 'item.put' GROUP BY subject_id
), events AS (
    SELECT aggregate_id, count(*) AS number FROM outbox_event WHERE aggregate_type = 'item' GROUP BY aggregate_id
)
SELECT format('%s of %s is at version %s, but has %s facts and %s events', item.sku, item.tenant_id, item.version,
              coalesce(facts.number, 0), coalesce(events.number, 0)) AS violation
  FROM item
  LEFT JOIN facts ON facts.subject_id = item.id::text
  LEFT JOIN events ON events.aggregate_id = item.id
 WHERE facts.number IS DISTINCT FROM item.version OR events.number IS DISTINCT FROM item.version;
