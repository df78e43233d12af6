//! Statements that trim the history of events as retention does: whole days, each with a row in `outbox_dropped_day`.

/// The events of an aggregate are of three days: 1, 2 and 3. So are the rows that they report.
pub const DAYS: &str = "
    UPDATE outbox_event SET created_at = '2026-01-01T12:00:00Z'::timestamptz + (sequence - 1) * interval '1 day';";

/// Drops the first day.
pub const FIRST_DAY: &str = "
    DELETE FROM outbox_event WHERE sequence = 1; INSERT INTO outbox_dropped_day (day, rows) VALUES ('2026-01-01', 1);";
/// Drops the second day.
pub const SECOND_DAY: &str = "
    DELETE FROM outbox_event WHERE sequence = 2; INSERT INTO outbox_dropped_day (day, rows) VALUES ('2026-01-02', 1);";
/// Drops the third day.
pub const THIRD_DAY: &str = "
    DELETE FROM outbox_event WHERE sequence = 3; INSERT INTO outbox_dropped_day (day, rows) VALUES ('2026-01-03', 1);";
