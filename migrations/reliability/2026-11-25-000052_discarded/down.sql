DROP INDEX audit_fact_discarded;
