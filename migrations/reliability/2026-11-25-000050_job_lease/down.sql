DROP TABLE job_lease;
