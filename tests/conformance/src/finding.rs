//! `Finding`: why a case did not pass.

/// Why a case did not pass.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Finding {
    /// The target does not have what the case needs, such as a second instance.
    #[error("{0}")]
    Skipped(String),
    /// The server did something else than the case demands.
    #[error("{0}")]
    Failed(String),
}

/// How a case ended.
pub type Verdict<T = ()> = Result<T, Finding>;

/// Fails with this text, unless the condition is true.
pub(crate) fn ensure(condition: bool, otherwise: impl FnOnce() -> String) -> Verdict {
    if condition { Ok(()) } else { Err(Finding::Failed(otherwise())) }
}

/// Skips the case for this reason, unless there is a value.
pub(crate) fn given<T>(value: Option<T>, otherwise: &str) -> Verdict<T> {
    value.ok_or_else(|| Finding::Skipped(otherwise.to_owned()))
}
