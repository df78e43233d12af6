//! `Finding`: one thing that the doctor has looked at.

use std::fmt::{self, Display};

use serde::Serialize;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Grade {
    /// As it should be.
    Ok,
    /// Every promise holds; something makes it likelier that one breaks.
    Warning,
    /// A promise is broken, or is kept later than it should.
    Fault,
}

/// An observation about one subject, and the cure if it is a fault.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    subject: String,
    pub(super) grade: Grade,
    seen: String,
    cure: Option<String>,
}

impl Finding {
    pub(super) fn ok(subject: impl Into<String>, seen: impl Display) -> Self {
        Self { subject: subject.into(), grade: Grade::Ok, seen: seen.to_string(), cure: None }
    }

    pub(super) fn warning(subject: impl Into<String>, seen: impl Display, cure: impl Display) -> Self {
        Self { grade: Grade::Warning, cure: Some(cure.to_string()), ..Self::ok(subject, seen) }
    }

    pub(super) fn fault(subject: impl Into<String>, seen: impl Display, cure: impl Display) -> Self {
        Self { grade: Grade::Fault, ..Self::warning(subject, seen, cure) }
    }
}

#[derive(Serialize)]
pub(super) struct Report {
    pub(super) findings: Vec<Finding>,
}

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Finding { subject, grade, seen, cure } in &self.findings {
            let grade = match grade {
                Grade::Ok => "ok",
                Grade::Warning => "warning",
                Grade::Fault => "FAULT",
            };
            writeln!(f, "{grade:7}  {subject}: {seen}")?;
            if let Some(cure) = cure {
                writeln!(f, "         → {cure}")?;
            }
        }
        let number = |grade| self.findings.iter().filter(|finding| finding.grade == grade).count();
        writeln!(f, "faults: {}, warnings: {}", number(Grade::Fault), number(Grade::Warning))
    }
}
