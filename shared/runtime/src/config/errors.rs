//! All errors of a configuration in one list, so that one start reports every error.

use std::fmt;

/// One wrong or missing setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConfigError {
    /// The setting, `section.key`.
    pub(super) path: String,
    /// True if the setting is missing. A missing setting is an error only for a command that needs it.
    pub(super) missing: bool,
    /// The variable and what it must be. Never the value, because it may be a secret in the wrong variable.
    pub(super) text: String,
}

/// All errors of a configuration, in the order in which the settings are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors {
    pub(super) service: &'static str,
    pub(super) errors: Vec<ConfigError>,
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { service, errors } = self;
        let number = match errors.len() {
            1 => "1 error".to_owned(),
            many => format!("{many} errors"),
        };
        write!(f, "{service}: {number} in the configuration; `{service} defaults` prints every setting")?;
        for error in errors {
            write!(f, "\n  - {}", error.text)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}
