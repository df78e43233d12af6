//! `SERVICE audit`: asks all questions about the service's own database, and lists the violations.

use std::fmt;

use clap::Args;
use database::{Database, Result};
use operators::{CommandOutput, Read};
use serde::Serialize;

use super::ask;
use crate::Service;

/// The arguments.
#[derive(Debug, Args)]
pub(crate) struct Audit {
    #[command(flatten)]
    read: Read,
}

impl Audit {
    /// Is done if every invariant holds.
    pub(crate) async fn run<S: Service>(self, database: &Database) -> Result<CommandOutput> {
        let mut invariants = Vec::new();
        for question in audits::of_service(S::NAME) {
            let violations = ask(database, question).await?;
            invariants.push(Invariant { name: question.invariant(), violations });
        }
        let violations = invariants.iter().map(|invariant| invariant.violations.len()).sum();
        let report = Report { violations, invariants };
        Ok(self.read.output_with(violations == 0, &report, Report::to_string))
    }
}

#[derive(Serialize)]
struct Report {
    violations: usize,
    invariants: Vec<Invariant>,
}

#[derive(Serialize)]
struct Invariant {
    name: &'static str,
    violations: Vec<String>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { violations, invariants } = self;
        for Invariant { name, violations } in invariants {
            let state = if violations.is_empty() { "holds   " } else { "violated" };
            writeln!(f, "{state}  {name}")?;
            for violation in violations {
                writeln!(f, "            {violation}")?;
            }
        }
        writeln!(f, "{} invariants, {violations} violations", invariants.len())
    }
}
