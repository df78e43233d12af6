-- Takes out the first released aggregates that have a thousand events together, or a single larger one: each event becomes a gap of the
-- relay, and each read looks at all gaps.
WITH next AS (
    SELECT aggregate_id FROM outbox_blocked WHERE released_at IS NOT NULL ORDER BY id LIMIT 1000
),
counted AS (
    SELECT aggregate_id, sum(count(*)) OVER (ORDER BY min(id)) - count(*) AS events_before
      FROM outbox_blocked
     WHERE aggregate_id IN (SELECT aggregate_id FROM next)
     GROUP BY aggregate_id
)
DELETE FROM outbox_blocked
 WHERE aggregate_id IN (SELECT aggregate_id FROM counted WHERE events_before < 1000)
RETURNING id, aggregate_id
