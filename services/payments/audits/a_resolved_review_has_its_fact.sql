-- Promise 9: each resolution of a review has one audit fact with the same content.
-- Database: payments.
--
-- A resolution may open a second review of the same money and resolve it as well. One fact then counts for both.
WITH recorded AS (
    SELECT id, subject_id AS review, actor, details ->> 'resolution' AS resolution, details ->> 'reason' AS note
      FROM audit_fact
     WHERE action = 'review.resolve'
)
SELECT format('review %s of %s %s was answered with %s by %s; %s facts say so', review.id, review.subject,
              review.subject_id, review.resolution, review.resolved_by, facts.own) AS violation
  FROM review
 CROSS JOIN LATERAL (
     SELECT count(*) FILTER (WHERE asked.id = review.id) AS own, count(*) AS own_or_shared
       FROM recorded
       JOIN review AS asked ON asked.id::text = recorded.review
      WHERE (recorded.actor, recorded.resolution, recorded.note) = (review.resolved_by, review.resolution, review.note)
        AND (asked.id = review.id
             OR review.reason IN ('refund_failed', 'refund_returned')
                AND (asked.subject, asked.subject_id) = (review.subject, review.subject_id))) AS facts
 WHERE review.resolution IS NOT NULL
   AND (facts.own > 1 OR facts.own_or_shared = 0)
UNION ALL
SELECT format('fact %s says that %s resolved review %s with %s, but the review does not', recorded.id, recorded.actor,
              recorded.review, recorded.resolution)
  FROM recorded
  LEFT JOIN review ON review.id::text = recorded.review
 WHERE (recorded.actor, recorded.resolution, recorded.note)
       IS DISTINCT FROM (review.resolved_by, review.resolution, review.note);
