DROP INDEX intent_processor_object;
ALTER TABLE intent
    DROP COLUMN woken,
    DROP COLUMN processor_object,
    DROP COLUMN look_ups,
    DROP COLUMN asks;
