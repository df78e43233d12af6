-- Counts a tenant's accepted commands, and its audit facts. They are equal as long as no response of the tenant has expired.
-- Databases: of each service.
SELECT (SELECT count(*) FROM idempotency_record
         WHERE tenant_id = $1 AND state = 'completed' AND status < 400) AS accepted,
       (SELECT count(*) FROM audit_fact WHERE tenant_id = $1 AND actor NOT LIKE '@operator:%') AS facts;
