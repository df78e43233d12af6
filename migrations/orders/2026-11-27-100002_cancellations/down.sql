DROP INDEX audit_fact_cancellation;
