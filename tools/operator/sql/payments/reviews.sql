-- The reviews of these payments and refunds ($1).
-- Database: payments.
SELECT id, subject, reason, opened_at, resolution, resolved_by, resolved_at
  FROM review
 WHERE subject_id = ANY ($1)
 ORDER BY opened_at;
