-- For each table a query that counts its rows and makes a digest of all that they hold, one row after the other.
-- Any database. Lease, cursor and the turn to reconcile are left out: they say how far a process is, not what is true.
SELECT class.relname::text AS name,
       format('SELECT count(*) AS rows, md5(string_agg(md5(t::text), '''' ORDER BY md5(t::text))) AS digest FROM %I AS t',
              class.relname) AS query
  FROM pg_class AS class
 WHERE class.relnamespace = 'public'::regnamespace
   AND class.relkind IN ('r', 'p')
   AND NOT class.relispartition
   AND class.relname NOT IN ('outbox_lease', 'outbox_cursor', 'reconciliation')
 ORDER BY class.relname;
