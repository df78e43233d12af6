DROP INDEX processor_call_object;
ALTER TABLE processor_call
    DROP COLUMN look_up_requested,
    DROP COLUMN processor_object,
    DROP COLUMN look_ups,
    DROP COLUMN mode;
