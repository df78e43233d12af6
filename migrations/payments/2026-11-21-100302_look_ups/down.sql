DROP INDEX processor_call_object;
DROP INDEX processor_call_due;
CREATE INDEX processor_call_due ON processor_call (due_at) WHERE due_at IS NOT NULL;
ALTER TABLE processor_call
    DROP COLUMN needs_look_up,
    DROP COLUMN found_at,
    DROP COLUMN last_sent_at,
    DROP COLUMN look_up_requested,
    DROP COLUMN processor_object,
    DROP COLUMN look_ups,
    DROP COLUMN mode;
