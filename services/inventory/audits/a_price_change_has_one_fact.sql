-- Promise 9: each change by a PUT has one audit fact and one event, although a PUT has no key.
-- Database: inventory.
--
-- Retention has dropped the events of whole days. The last event of an item has its version, unless a later day was dropped.
WITH facts AS (
    SELECT subject_id, count(*) AS number FROM audit_fact WHERE action = 'item.put' GROUP BY subject_id
), events AS (
    SELECT aggregate_id, count(*) AS number, max(sequence) AS last, (max(created_at) AT TIME ZONE 'UTC')::date AS last_day
      FROM outbox_event WHERE aggregate_type = 'item' GROUP BY aggregate_id
), dropped AS (
    SELECT max(day) AS last_day FROM outbox_dropped_day
)
SELECT format('%s of %s is at version %s, but has %s facts and %s events', item.sku, item.tenant_id, item.version,
              coalesce(facts.number, 0), coalesce(events.number, 0)) AS violation
  FROM dropped
 CROSS JOIN item
  LEFT JOIN facts ON facts.subject_id = item.id::text
  LEFT JOIN events ON events.aggregate_id = item.id
 WHERE facts.number IS DISTINCT FROM item.version
    OR CASE WHEN dropped.last_day >= (item.created_at AT TIME ZONE 'UTC')::date
            THEN events.last > item.version OR (events.last < item.version AND events.last_day > dropped.last_day)
            ELSE events.number IS DISTINCT FROM item.version
            END;
