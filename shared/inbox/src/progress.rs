//! `check_progress`: lets a process with a part that stands still leave its group.
//!
//! The client's own threads would keep the membership: they send heartbeats to the group whatever becomes of the batches.

use std::time::Duration;

use database::Heartbeats;
use messaging::ProgressCheck;

/// A process that makes no progress for so long reads nothing more. If it goes on like this, it leaves the group.
const STANDSTILL: Duration = Duration::from_secs(1);

/// The question of the consumer thread. The thread is a part of the process itself: it beats when it asks.
pub(crate) fn check_progress(heartbeats: Heartbeats) -> ProgressCheck {
    let thread = heartbeats.of("consumer thread");
    ProgressCheck::new(move || {
        thread.beat();
        heartbeats.standing_still(STANDSTILL).is_empty()
    })
}
