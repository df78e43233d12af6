//! Configuration: defaults in commented files, overrides from the environment, and every fault in one list.

mod faults;
mod fields;
mod sections;
#[cfg(test)]
mod tests;

use std::time::Duration;

use database::Settings as DatabaseSettings;
use edge::EdgeSettings;
use inbox::RunnerSettings;
use secrecy::SecretString;

use crate::Service;

pub use faults::Faults;
pub use fields::Fields;
pub(crate) use sections::{Auth, Http, Kafka, Log, LogFormat, Relay};

/// The settings that every service has; a service's own file may override them.
const DEFAULTS: &str = include_str!("defaults.toml");

/// What a command needs. A setting that is missing is a fault only for who needs it; a wrong one always is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Serve,
    Relay,
    Migrate,
    /// An operators' command.
    Operate {
        /// The settings that it needs beside the database's.
        beside: &'static [&'static str],
    },
    /// Asking a running instance.
    Ask,
}

impl Purpose {
    fn needs(self, path: &str) -> bool {
        match self {
            Self::Serve => path != "database.migration_url",
            Self::Relay => ["database.url", "kafka.brokers"].contains(&path),
            Self::Migrate => path == "database.migration_url",
            Self::Operate { beside } => path == "database.url" || beside.contains(&path),
            Self::Ask => false,
        }
    }
}

/// Everything that a process needs to know. What its purpose does not need may be a placeholder.
pub(crate) struct Config<S: Service> {
    pub(crate) http: Http,
    pub(crate) edge: EdgeSettings,
    pub(crate) auth: Auth,
    pub(crate) database: DatabaseSettings,
    pub(crate) migration_url: Option<SecretString>,
    pub(crate) kafka: Kafka,
    pub(crate) inbox: RunnerSettings,
    pub(crate) relay: Relay,
    pub(crate) log: Log,
    pub(crate) drain: Duration,
    pub(crate) service: S::Settings,
}

impl<S: Service> Config<S> {
    /// Reads the defaults and these variables, and lists everything that is wrong with them.
    pub(crate) fn read(
        purpose: Purpose,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Faults> {
        let mut fields = Fields::new(S::NAME, &[DEFAULTS, S::DEFAULTS], variables);
        let config = Self {
            http: sections::http(&mut fields),
            edge: sections::edge(&mut fields),
            auth: sections::auth(&mut fields, purpose == Purpose::Serve),
            database: sections::database(&mut fields),
            migration_url: sections::migration_url(&mut fields),
            kafka: sections::kafka(&mut fields),
            inbox: sections::inbox(&mut fields),
            relay: sections::relay(&mut fields),
            log: sections::log(&mut fields),
            drain: sections::drain(&mut fields),
            service: S::settings(&mut fields),
        };
        fields.finish(|path| purpose.needs(path)).map(|()| config)
    }
}

/// The variables of this process. One that is not Unicode cannot be a setting of ours.
pub(crate) fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Every setting with its default and what it means.
pub(crate) fn defaults<S: Service>() -> String {
    format!("{DEFAULTS}\n{}", S::DEFAULTS)
}
