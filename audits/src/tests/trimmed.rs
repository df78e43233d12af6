//! History that retention has trimmed is no gap, and damage of the rest is one.

use testkit::SoundDatabase;
use testkit::trimmed::{DAYS, FIRST_DAY, SECOND_DAY, THIRD_DAY};

use super::reliability::{BASE, HISTORY, MIGRATIONS};

#[tokio::test]
async fn a_dropped_day_is_no_gap_and_a_missing_event_of_a_kept_day_is_one() {
    let cases: [&[&str]; 8] = [
        &[],
        &[FIRST_DAY],
        // A blocked row kept the first day.
        &[SECOND_DAY],
        &[FIRST_DAY, SECOND_DAY, THIRD_DAY],
        &[FIRST_DAY, "DELETE FROM outbox_event WHERE sequence = 2", "UPDATE outbox_event SET sequence = 2"],
        // Missing, and its day was not dropped.
        &[FIRST_DAY, "DELETE FROM outbox_dropped_day"],
        &[
            "DELETE FROM outbox_event WHERE sequence = 2",
            "INSERT INTO outbox_dropped_day (day, rows) VALUES ('2026-01-04', 1)",
        ],
        &[FIRST_DAY, "UPDATE outbox_event SET sequence = 2"],
    ];
    let gaps = include_str!("../../reliability/a_history_has_no_gap.sql");
    let found = SoundDatabase::with(MIGRATIONS, &[BASE, HISTORY, DAYS]).await.finds(gaps, cases).await;
    assert_eq!(found, [false, false, false, false, false, true, true, true]);
}
