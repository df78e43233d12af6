DROP TABLE audit_fact;
