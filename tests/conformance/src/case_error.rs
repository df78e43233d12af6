//! `CaseError`: why a case did not pass.

/// Why a case did not pass.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CaseError {
    /// The target does not have what the case needs, such as a second instance.
    #[error("{0}")]
    Skipped(String),
    /// The server breaks the rule of the case.
    #[error("{0}")]
    Failed(String),
}

/// The result of a case, or of one of its steps.
pub(crate) type CaseResult<T = ()> = Result<T, CaseError>;

/// Fails with this text, unless the condition is true.
pub(crate) fn ensure(condition: bool, otherwise: impl FnOnce() -> String) -> CaseResult {
    if condition { Ok(()) } else { Err(CaseError::Failed(otherwise())) }
}

/// Skips the case for this reason, unless there is a value.
pub(crate) fn given<T>(value: Option<T>, otherwise: &str) -> CaseResult<T> {
    value.ok_or_else(|| CaseError::Skipped(otherwise.to_owned()))
}
