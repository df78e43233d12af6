//! `Refused`: the error of an unusable `IDEM_CRASH`.

use std::fmt;

/// The value of the variable, and why it is refused.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused(String);

impl Refused {
    pub(crate) fn new(text: &str, why: &str) -> Self {
        Self(format!("IDEM_CRASH is '{text}', but {why}"))
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}
