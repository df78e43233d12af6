//! `Report`: the status of each case, as a table, as JSON and as JUnit XML.

mod json;
mod junit;
mod table;

use std::time::Duration;

use strum::Display;

use crate::cases::Case;

/// The status of a case after the run.
#[derive(Debug, Clone, PartialEq, Eq, Display)]
#[strum(serialize_all = "lowercase")]
pub enum CaseStatus {
    /// The server keeps the rule.
    Passed,
    /// The target lacks what the case needs.
    Skipped(String),
    /// The server decides otherwise, and the target file names the reason.
    Differs {
        /// What the server did.
        what: String,
        /// The reason.
        why: String,
    },
    /// The server breaks the rule.
    Failed(String),
}

/// A case and its status.
pub struct CaseReport {
    /// The case.
    pub case: &'static Case,
    /// The status.
    pub status: CaseStatus,
    /// How long it took.
    pub(crate) took: Duration,
}

/// The report of a run.
pub struct Report {
    /// The name of the target.
    pub(crate) target: String,
    /// The cases by number.
    pub cases: Vec<CaseReport>,
}

impl Report {
    /// Returns whether no case failed.
    pub fn is_conformant(&self) -> bool {
        self.failed().next().is_none()
    }

    /// The cases that failed.
    pub fn failed(&self) -> impl Iterator<Item = &CaseReport> {
        self.cases.iter().filter(|result| matches!(result.status, CaseStatus::Failed(_)))
    }

    fn count(&self, name: &str) -> usize {
        self.cases.iter().filter(|result| result.status.to_string() == name).count()
    }
}

impl CaseStatus {
    /// What the server did, or what the target lacks.
    fn text(&self) -> Option<String> {
        match self {
            Self::Passed => None,
            Self::Skipped(text) | Self::Failed(text) => Some(text.clone()),
            Self::Differs { what, why } => Some(format!("{why} ({what})")),
        }
    }
}
