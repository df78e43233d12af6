//! People at the command line: who changes by hand what services do by themselves says who they are, and why.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use contracts::ClientId;

/// Who gives a command, and why: the arguments of every operators' command that has an effect.
#[derive(Debug, Clone, Args)]
pub struct Operator {
    /// Who gives the command; the audit calls them @operator:NAME
    #[arg(long = "by", value_name = "NAME", value_parser = name)]
    name: ClientId,
    /// Why; it stands in the audit
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    reason: String,
}

impl Operator {
    /// Who gives the command, and why, where a command has arguments of its own for that.
    pub fn new(name: ClientId, reason: impl Into<String>) -> Self {
        Self { name, reason: reason.into() }
    }

    /// What stands as a fact's actor: no client can have such a name.
    pub fn actor(&self) -> String {
        format!("@operator:{}", self.name)
    }

    /// Why, in their own words.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

fn name(text: &str) -> Result<ClientId, &'static str> {
    text.parse().map_err(|_| "a name is 1 to 64 characters of A-Z a-z 0-9 . _ -")
}
