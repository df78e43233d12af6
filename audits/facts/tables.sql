-- For each table, a query that counts its rows and computes a digest of their content.
-- Any database. Leases, cursor and reconciliation turn are left out, because they hold the progress of a process.
SELECT class.relname::text AS name,
       format('SELECT count(*) AS rows, md5(string_agg(md5(t::text), '''' ORDER BY md5(t::text))) AS digest FROM %I AS t',
              class.relname) AS query
  FROM pg_class AS class
 WHERE class.relnamespace = 'public'::regnamespace
   AND class.relkind IN ('r', 'p')
   AND NOT class.relispartition
   AND class.relname NOT IN ('job_lease', 'outbox_lease', 'outbox_cursor', 'reconciliation')
 ORDER BY class.relname;
