-- One row for each housekeeping job. It lets one instance run the job at a time, and says when the job last succeeded.
CREATE TABLE job_lease (
    name              text        PRIMARY KEY,
    holder            text        NOT NULL,
    -- A run renews its lease. The job of an instance that died is free from this time on.
    lease_until       timestamptz NOT NULL,
    -- No instance runs the job before this time.
    due_at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_started_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_succeeded_at timestamptz,
    -- The error of the last run; NULL if it succeeded.
    last_error        text
);
GRANT SELECT, INSERT, UPDATE ON job_lease TO idem_service;
