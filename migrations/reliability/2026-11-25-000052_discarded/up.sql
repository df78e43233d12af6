-- Finds the discarded messages of an aggregate. It has one entry for each discard, so commands pay nothing for it.
CREATE INDEX CONCURRENTLY audit_fact_discarded ON audit_fact ((details ->> 'aggregate_id')) WHERE action = 'inbox.discard';
