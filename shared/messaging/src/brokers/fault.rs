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

    pub(super) fn of_properties(reason: &impl fmt::Display) -> Self {
        Self { setting: "kafka.properties".to_owned(), problem: format!("cannot be used together: {reason}") }
    }

    pub(super) fn of_token(reason: &str) -> Self {
        let setting = "kafka.properties.sasl_oauthbearer_token_file".to_owned();
        Self { setting, problem: format!("must be the file of a token: {reason}") }
    }
}

impl fmt::Display for SettingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.setting, self.problem)
    }
}

impl From<Vec<SettingFault>> for Error {
    fn from(faults: Vec<SettingFault>) -> Self {
        let sentences: Vec<_> = faults.iter().map(ToString::to_string).collect();
        Self::Configuration { reason: sentences.join("; ") }
    }
}
