//! What keeps a figure from being measured. There are no wrong figures: an answer that was not expected ends the run.

use std::fmt::Display;

use thiserror::Error;

/// What happened, and while doing what.
#[derive(Debug, Error)]
pub(crate) enum Trouble {
    #[error("cannot {doing}: {reason}")]
    Failed { doing: String, reason: String },
    #[error("{0}")]
    Refused(String),
    #[error("interrupted")]
    Interrupted,
}

/// Says what was being done when an error came.
pub(crate) trait Doing<T> {
    /// `doing` completes "cannot …".
    fn doing(self, doing: impl Display) -> Result<T, Trouble>;
}

impl<T, E: std::error::Error> Doing<T> for Result<T, E> {
    fn doing(self, doing: impl Display) -> Result<T, Trouble> {
        self.map_err(|error| {
            let causes = std::iter::successors(error.source(), |cause| cause.source());
            let reason = causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
            Trouble::Failed { doing: doing.to_string(), reason }
        })
    }
}
