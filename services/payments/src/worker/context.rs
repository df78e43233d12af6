//! `WorkerContext`: what each step of the worker needs.

use std::time::Duration;

use database::Database;

use super::attempt::AttemptResult;
use crate::domain::NextStep;
use crate::processor::CallPolicy;
use crate::settings::WorkerSettings;

/// The database, and the settings that the steps of the worker share.
#[derive(Clone)]
pub(super) struct WorkerContext {
    pub(super) database: Database,
    pub(super) policy: CallPolicy,
    pub(super) settings: WorkerSettings,
}

impl WorkerContext {
    /// Returns the pause after attempt number `attempt`, before the step that follows this result.
    pub(super) fn pause(&self, attempt: i32, result: &AttemptResult, next: NextStep) -> Duration {
        let is_look_up = matches!(next, NextStep::LookupLater { .. });
        let backoff = if is_look_up { self.settings.look_up_backoff } else { self.settings.backoff };
        backoff.pause(attempt, result.retry_after())
    }
}
