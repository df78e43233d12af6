//! What is wrong with a configuration, all of it at once: nobody should start a process five times to learn five
//! faults.

use std::fmt;

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The setting, `section.key`.
    pub(super) path: String,
    /// Whether the setting is just not there; then it only matters to who needs it.
    pub(super) missing: bool,
    /// What is wrong, where, and what would be right. Never the value: variables get mixed up, and it may be a secret.
    pub(super) text: String,
}

/// Every fault of a configuration, in the order of the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults {
    pub(super) service: &'static str,
    pub(super) faults: Vec<Fault>,
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { service, faults } = self;
        let number = match faults.len() {
            1 => "1 fault".to_owned(),
            many => format!("{many} faults"),
        };
        write!(f, "{service}: {number} in the configuration; `{service} defaults` prints every setting")?;
        for fault in faults {
            write!(f, "\n  - {}", fault.text)?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}
