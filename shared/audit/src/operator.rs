//! `Operator`: the name and the reason that every operators' command with an effect requires.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use contracts::ClientId;

/// Who runs a command, and why.
#[derive(Debug, Clone, Args)]
pub struct Operator {
    /// Who runs the command; the audit shows @operator:NAME
    #[arg(long = "by", value_name = "NAME", value_parser = name)]
    name: ClientId,
    /// Why; the audit shows it
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    reason: String,
}

impl Operator {
    /// Name and reason, for a command with arguments of its own.
    pub fn new(name: ClientId, reason: impl Into<String>) -> Self {
        Self { name, reason: reason.into() }
    }

    /// The actor of the fact. It is not a valid client name.
    pub fn actor(&self) -> String {
        format!("@operator:{}", self.name)
    }

    /// The reason.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

fn name(text: &str) -> Result<ClientId, &'static str> {
    text.parse().map_err(|_| "a name has 1 to 64 characters of A-Z a-z 0-9 . _ -")
}
