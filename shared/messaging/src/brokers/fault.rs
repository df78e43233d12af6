//! `SettingFault`: one setting of the brokers that cannot be used.

use std::fmt;
use std::io;
use std::path::Path;

use crate::Error;

/// A setting that cannot be used. Neither field repeats a value, because it may be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingFault {
    /// The setting, such as `kafka.brokers` or `kafka.properties.security_protocol`; `kafka.properties` for the properties
    /// together.
    pub setting: String,
    /// The rest of the sentence that begins with the setting.
    pub problem: String,
}

impl SettingFault {
    pub(super) fn unreadable(setting: String, path: &Path, error: &io::Error) -> Self {
        Self { setting, problem: format!("must be a file that can be read; {}: {error}", path.display()) }
    }

    /// The reason is librdkafka's, or that of a file that was read.
    pub(super) fn of_properties(reason: &impl ToString) -> Self {
        let problem = format!("cannot be used together: {}", reason.to_string());
        Self { setting: "kafka.properties".to_owned(), problem }
    }

    pub(super) fn of_token(reason: &dyn fmt::Display) -> Self {
        let setting = "kafka.properties.sasl_oauthbearer_token_file".to_owned();
        Self { setting, problem: format!("must be the file of a token: {reason}") }
    }

    /// Returns the sentence with the name of the variable.
    pub(super) fn of_variable(&self) -> String {
        format!("{} {}", variable(&self.setting), self.problem)
    }

    /// Returns one error of all sentences.
    pub(super) fn all(sentences: impl Iterator<Item = String>) -> Error {
        Error::Configuration { reason: sentences.collect::<Vec<_>>().join("; ") }
    }
}

/// Returns the name of the variable: `kafka.brokers` is `IDEM_KAFKA__BROKERS`.
pub(super) fn variable(setting: &str) -> String {
    format!("IDEM_{}", setting.replace('.', "__").to_ascii_uppercase())
}

impl fmt::Display for SettingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.setting, self.problem)
    }
}

impl From<SettingFault> for Error {
    fn from(fault: SettingFault) -> Self {
        Self::Configuration { reason: fault.to_string() }
    }
}
