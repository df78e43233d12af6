//! `Change`: one transaction of a command, with its audit fact, committed or undone.

use std::fmt::Display;

use audit::{Fact, Operator};
use clap::Args;
use database::{Database, Tx};
use envelope::{ClientId, TenantId};
use serde::Serialize;

use crate::CommandOutput;

/// The arguments of every command that changes something.
#[derive(Debug, Clone, Args)]
pub struct Change {
    /// Your name; the audit shows @operator:NAME
    #[arg(long, value_name = "NAME")]
    by: ClientId,
    /// Why; the audit shows it
    #[arg(long, value_name = "TEXT", value_parser = audit::reason)]
    reason: String,
    /// Make the change, print the result, and undo it
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The effect of a command in its transaction.
#[derive(Debug)]
pub struct Outcome<R> {
    report: R,
    sentence: String,
    is_done: bool,
    is_changed: bool,
    fact: Option<Fact>,
}

impl<R> Outcome<R> {
    /// The transaction has changed rows, and this fact says so.
    pub fn changed(report: R, sentence: impl Into<String>, fact: Fact) -> Self {
        Self { fact: Some(fact), ..Self::recorded(report, sentence) }
    }

    /// The transaction has changed rows, and has recorded its facts itself.
    pub fn recorded(report: R, sentence: impl Into<String>) -> Self {
        Self { is_changed: true, ..Self::unchanged(report, sentence) }
    }

    /// The database is already as the command would make it. The transaction is rolled back.
    pub fn unchanged(report: R, sentence: impl Into<String>) -> Self {
        Self { report, sentence: sentence.into(), is_done: true, is_changed: false, fact: None }
    }

    /// The command is refused: the transaction is rolled back, and the exit code is 1.
    pub fn refused(report: R, sentence: impl Into<String>) -> Self {
        Self { is_done: false, ..Self::unchanged(report, sentence) }
    }
}

impl<R: Serialize> Outcome<R> {
    /// The output without a transaction, for a command that is refused before it begins one.
    pub fn output(&self, change: &Change) -> CommandOutput {
        change.output(self.is_done, &self.sentence, &self.report)
    }
}

/// The report of a command with `--dry-run`.
#[derive(Serialize)]
struct Tried<'a, R> {
    dry_run: bool,
    #[serde(flatten)]
    report: &'a R,
}

impl Change {
    /// Name and reason.
    pub fn operator(&self) -> Operator {
        Operator::new(self.by.clone(), self.reason.clone())
    }

    /// Returns whether the command only shows what would happen.
    pub fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// The fact that this operator did `action` to a subject; `tenant` is `None` for a subject of several tenants.
    pub fn fact(
        &self,
        tenant: Option<&TenantId>,
        action: &'static str,
        subject_type: &'static str,
        subject: impl Display,
    ) -> Fact {
        Fact::by_operator(&self.operator(), tenant, action, subject_type, subject)
    }

    /// Runs `act` in one transaction, and records its fact. Commits if rows have changed, unless the command is a dry run.
    ///
    /// # Errors
    /// Those of `act`, and of the database. Nothing is changed then, or [`database::Error`] says that the outcome is unknown.
    pub async fn run<R: Serialize, E: From<database::Error>>(
        &self,
        database: &Database,
        act: impl AsyncFnOnce(&mut Tx) -> Result<Outcome<R>, E>,
    ) -> Result<CommandOutput, E> {
        let mut tx = database.begin().await?;
        let mut outcome = act(&mut tx).await?;
        if let Some(fact) = outcome.fact.take() {
            audit::record(&mut tx, fact);
        }
        if outcome.is_changed {
            self.end(tx).await?;
        } else {
            tx.rollback().await?;
        }
        Ok(outcome.output(self))
    }

    /// Commits. A dry run writes the rows before it undoes them, because a constraint may refuse them.
    ///
    /// # Errors
    /// Database errors.
    pub async fn end(&self, mut tx: Tx) -> database::Result<()> {
        if self.dry_run {
            tx.flush().await?;
            tx.rollback().await
        } else {
            tx.commit().await
        }
    }

    /// The output of a command that ends its transactions itself: see [`CommandOutput::new`].
    pub fn output(&self, is_done: bool, sentence: &str, report: &impl Serialize) -> CommandOutput {
        if self.json {
            let tried = Tried { dry_run: self.dry_run, report };
            return CommandOutput::new(true, is_done, sentence, &tried);
        }
        let mut output = CommandOutput::new(false, is_done, sentence, report);
        if self.dry_run {
            output.text.insert_str(0, "dry run: nothing is changed. Without --dry-run:\n");
        }
        output
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        change: Change,
    }

    #[test]
    fn a_command_with_an_effect_needs_a_name_and_a_reason() {
        let parse = |words: &[&str]| CommandLine::try_parse_from(["command"].iter().chain(words));
        assert!(parse(&["--by", "@system", "--reason", "x"]).is_err(), "@ is not a character of a name");
        assert!(parse(&["--by", "kim", "--reason", ""]).is_err());
        assert!(parse(&["--by", "kim", "--reason", "card 4242 4242 4242 4242"]).is_err());
        assert!(parse(&["--by", "kim"]).is_err() && parse(&["--reason", "x"]).is_err());
        let operator = parse(&["--by", "kim", "--reason", "a bug"]).unwrap().change.operator();
        assert_eq!((operator.actor().as_str(), operator.reason()), ("@operator:kim", "a bug"));
    }
}
