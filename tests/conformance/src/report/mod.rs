//! `Report`: how each case ended, as a table, as JSON and as JUnit XML.

mod json;
mod junit;
mod table;

use std::time::Duration;

use strum::Display;

use crate::cases::Case;

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq, Display)]
#[strum(serialize_all = "lowercase")]
pub enum Outcome {
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

/// A case and its outcome.
pub struct CaseResult {
    /// The case.
    pub case: &'static Case,
    /// How it ended.
    pub outcome: Outcome,
    /// How long it took.
    pub took: Duration,
}

/// The outcome of a run.
pub struct Report {
    /// The name of the target.
    pub target: String,
    /// The cases by number.
    pub results: Vec<CaseResult>,
}

impl Report {
    /// Returns whether no case failed.
    pub fn is_conformant(&self) -> bool {
        self.failed().next().is_none()
    }

    /// The cases that failed.
    pub fn failed(&self) -> impl Iterator<Item = &CaseResult> {
        self.results.iter().filter(|result| matches!(result.outcome, Outcome::Failed(_)))
    }

    fn count(&self, name: &str) -> usize {
        self.results.iter().filter(|result| result.outcome.to_string() == name).count()
    }
}

impl Outcome {
    /// What the server did, or what the target lacks.
    pub fn text(&self) -> Option<String> {
        match self {
            Self::Passed => None,
            Self::Skipped(text) | Self::Failed(text) => Some(text.clone()),
            Self::Differs { what, why } => Some(format!("{why} ({what})")),
        }
    }
}
