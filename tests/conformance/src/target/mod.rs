//! `Target`: the file that describes a server.

mod profiles;
mod requests;
mod responses;
mod variables;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use strum::Display;
use uuid::Uuid;

use requests::Command;
pub(crate) use requests::{Fence, Fresh, Preparation, Variant};
pub(crate) use responses::{Refusal, Responses};
use variables::Variables;

/// A server under test: its routes, its callers and its responses.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The name, for the report.
    pub(crate) name: String,
    /// Base URLs of the instances of one installation. Empty ones are left out.
    servers: Vec<String>,
    /// The keys that the server accepts.
    #[serde(default)]
    pub(crate) keys: Keys,
    /// The suite sends each key as a quoted String, `Idempotency-Key: "…"`, as the IETF draft demands. Otherwise it sends
    /// bare keys.
    #[serde(default)]
    pub(crate) quoted_keys: bool,
    /// The headers with the credentials of each caller.
    pub(crate) callers: BTreeMap<Caller, BTreeMap<String, String>>,
    /// How many cases run at a time; 4 if absent.
    #[serde(default = "four")]
    pub(crate) cases_at_once: NonZeroUsize,
    /// Requests that come before the first case, or before each case.
    #[serde(default)]
    pub(crate) prepare: Vec<Preparation>,
    /// Resources that commands use up.
    pub(crate) fresh: Option<Fresh>,
    /// JSON pointer to the cursor of a list's next page, which is sent as `cursor`. Absent: a list has one page.
    pub(crate) next_cursor: Option<String>,
    /// The command that the cases send.
    pub(crate) command: Command,
    /// How a client gives a key up.
    pub(crate) fence: Option<Fence>,
    /// How the server refuses a request and marks a replay.
    #[serde(default)]
    pub(crate) responses: Responses,
    /// Restarts the first instance, and returns once it is ready: a program and its arguments.
    #[serde(default)]
    pub(crate) restart: Vec<String>,
    /// After how many seconds a key expires, if that is soon enough to wait for. Empty or absent: the cases are skipped.
    #[serde(default)]
    expires_after_seconds: String,
    /// What a request with an expired key is.
    #[serde(default)]
    pub(crate) after_expiry: AfterExpiry,
    /// Cases that the server decides otherwise: number and reason.
    #[serde(default)]
    pub(crate) differs: BTreeMap<String, String>,
    #[serde(skip)]
    pub(crate) run: String,
}

/// The callers of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Display, Deserialize)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub(crate) enum Caller {
    /// Sends each request for which a case names no other caller.
    Default,
    /// The same caller with another token.
    Renewed,
    /// Another client of the same tenant.
    OtherClient,
    /// A client of another tenant.
    OtherTenant,
    /// The caller with a token that does not allow the command.
    Unprivileged,
}

/// The keys that a server accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Keys {
    /// UUIDs only.
    Uuid,
    /// Any text.
    #[default]
    Any,
}

/// What a request with an expired key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AfterExpiry {
    /// Refused: the server still knows the key.
    #[default]
    Refused,
    /// Executed: the key is free.
    NewRequest,
}

/// Why a target file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The file cannot be read.
    #[error("the target file {0} cannot be read: {1}")]
    Unreadable(String, std::io::Error),
    /// The file is not a target.
    #[error("the target file is not valid: {0}")]
    Invalid(#[from] toml::de::Error),
    /// A variable has no end.
    #[error("the target file has `${{` without `}}`")]
    Unclosed,
    /// A variable has no value.
    #[error(
        "the variable {0} of the target file is not set: export it, or give it a default under [variables]"
    )]
    Unset(String),
    /// The command of a variable failed.
    #[error("the command of the variable {variable} failed: {why}")]
    Command {
        /// The variable.
        variable: String,
        /// The error.
        why: String,
    },
    /// A value has a wrong form.
    #[error("{0}")]
    Value(String),
}

fn four() -> NonZeroUsize {
    const { NonZeroUsize::new(4).unwrap() }
}

impl Target {
    /// Reads a target file. Each `${NAME}` is replaced by a value of `given`, of the environment or of `[variables]`.
    ///
    /// # Errors
    /// [`TargetError::Unreadable`] if the file cannot be read; otherwise as [`parse`](Self::parse).
    pub fn read(file: &Path, given: &BTreeMap<String, String>) -> Result<Self, TargetError> {
        let text = std::fs::read_to_string(file)
            .map_err(|error| TargetError::Unreadable(file.display().to_string(), error))?;
        Self::parse(&text, given)
    }

    /// Reads the text of a target file.
    ///
    /// # Errors
    /// [`TargetError`] names the first value that cannot be used.
    pub fn parse(text: &str, given: &BTreeMap<String, String>) -> Result<Self, TargetError> {
        let run = Uuid::new_v4().simple().to_string()[..8].to_owned();
        let mut table: toml::Table = toml::from_str(text)?;
        profiles::apply(&mut table)?;
        let defaults = table.remove("variables").map(BTreeMap::deserialize).transpose()?.unwrap_or_default();
        let mut file = toml::Value::Table(table);
        Variables { known: given.clone(), defaults, run: run.clone() }.replace(&mut file)?;
        let mut target = Self::deserialize(file)?;
        target.servers.retain(|server| !server.is_empty());
        target.run = run;
        target.check()?;
        Ok(target)
    }

    fn check(&self) -> Result<(), TargetError> {
        let invalid = |text: String| Err(TargetError::Value(text));
        if self.servers.is_empty() {
            return invalid(
                "`servers` is empty: name one base URL, such as http://127.0.0.1:8081".to_owned(),
            );
        }
        if !self.callers.contains_key(&Caller::Default) {
            return invalid("[callers.default] is missing: it has the headers of most requests".to_owned());
        }
        if !self.expires_after_seconds.is_empty() && self.expires_after_seconds.parse::<u64>().is_err() {
            return invalid("`expires_after_seconds` is not a number of seconds".to_owned());
        }
        Ok(())
    }

    /// The base URL of an instance, counted from 0.
    pub(crate) fn server(&self, instance: usize) -> Option<&str> {
        self.servers.get(instance).map(|url| url.trim_end_matches('/'))
    }

    /// Returns whether bodies are JSON objects, so that a case may rewrite them.
    pub(crate) fn is_json(&self) -> bool {
        self.command.content_type.starts_with("application/json")
    }

    /// The time after which keys expire, if a case can wait for it.
    pub(crate) fn key_life(&self) -> Option<Duration> {
        self.expires_after_seconds.parse().ok().map(Duration::from_secs)
    }
}
