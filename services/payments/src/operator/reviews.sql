-- Reviews, the oldest first: the open ones, all of them, or one.
SELECT row_to_json(found)::text AS row
  FROM (SELECT id AS review_id,
               reason,
               subject,
               subject_id, -- our id of a payment or refund; the processor's id of an orphan
               payment_id,
               tenant_id AS tenant,
               details,
               to_char(opened_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS opened_at,
               resolution,
               resolved_by,
               note,
               to_char(resolved_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS resolved_at
          FROM review
         WHERE ($1 ->> 'review_id' IS NULL OR id = ($1 ->> 'review_id')::uuid)
           AND (($1 ->> 'all')::boolean OR resolution IS NULL)
         ORDER BY review.opened_at, id
         LIMIT ($1 ->> 'limit')::bigint) AS found
