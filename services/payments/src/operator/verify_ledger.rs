//! `payments ledger verify`: checks the ledger against the payments and refunds, and names each difference.
//!
//! It reads one snapshot of the database and writes nothing.

use clap::{Args, Subcommand};
use database::{Database, Result};
use operators::{CommandOutput, Read};
use serde::Serialize;

use crate::store::ledger_checks::{self, CHECKS};

/// The commands below `payments ledger`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check that the ledger sums to zero and agrees with the payments and refunds; the exit code is 0 if it does
    Verify(Verify),
}

impl Command {
    pub(super) async fn run(self, database: &Database) -> Result<CommandOutput> {
        match self {
            Self::Verify(verify) => verify.run(database).await,
        }
    }
}

/// The arguments.
#[derive(Debug, Args)]
pub struct Verify {
    #[command(flatten)]
    read: Read,
}

#[derive(Debug, Serialize)]
struct Report {
    transactions: i64,
    entries: i64,
    agrees: bool,
    checks: Vec<Check>,
}

/// The result of one check.
#[derive(Debug, Serialize)]
struct Check {
    check: &'static str,
    differences: Vec<String>,
}

impl Verify {
    async fn run(self, database: &Database) -> Result<CommandOutput> {
        let mut tx = ledger_checks::begin_snapshot(database).await?;
        let size = ledger_checks::size(&mut tx).await?;
        let mut checks = Vec::new();
        for (check, query) in CHECKS {
            checks.push(Check { check, differences: ledger_checks::differences(&mut tx, query).await? });
        }
        tx.rollback().await?;
        let report = Report {
            transactions: size.transactions,
            entries: size.entries,
            agrees: checks.iter().all(|check| check.differences.is_empty()),
            checks,
        };
        let Report { transactions, entries, agrees, .. } = report;
        let verb = if agrees { "agrees" } else { "does not agree" };
        let sentence = format!("the ledger {verb}: {transactions} transactions with {entries} entries");
        Ok(self.read.output(agrees, &sentence, &report))
    }
}
