//! The configuration: defaults from commented TOML files, overrides from the environment, all errors in one list.

mod auth;
mod errors;
mod reader;
mod sections;
#[cfg(test)]
mod tests;

use std::time::Duration;

use database::Settings as DatabaseSettings;
use edge::EdgeSettings;
use envelope::Topics;
use inbox::RunnerSettings;
use messaging::Brokers;
use secrecy::SecretString;

use crate::Service;

pub(crate) use auth::Auth;
pub use errors::ConfigErrors;
pub use reader::SettingsReader;
pub(crate) use sections::{Http, Log, LogFormat, LogRetention, Relay};

/// The settings that every service has; a service's own file may override them.
const DEFAULTS: &str = include_str!("defaults.toml");

/// The settings that a command needs. A missing setting is an error only if the command needs it; a wrong one always is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    Serve,
    Relay,
    Migrate,
    /// An operators' command: `database.url`, `deployment.name` and these settings.
    Database {
        and: &'static [&'static str],
    },
    /// The client of a running instance.
    Nothing,
}

impl Needs {
    fn includes(self, path: &str) -> bool {
        match self {
            Self::Serve => path != "database.migration_url",
            Self::Relay => ["database.url", "deployment.name", "kafka.brokers"].contains(&path),
            Self::Migrate => path == "database.migration_url",
            Self::Database { and } => {
                ["database.url", "deployment.name"].contains(&path) || and.contains(&path)
            }
            Self::Nothing => false,
        }
    }
}

/// All settings of a process. A setting that the command does not need may be a placeholder.
pub(crate) struct Config<S: Service> {
    pub(crate) http: Http,
    pub(crate) edge: EdgeSettings,
    pub(crate) auth: Auth,
    pub(crate) database: DatabaseSettings,
    pub(crate) migration_url: Option<SecretString>,
    /// `None` if the setting is missing.
    pub(crate) brokers: Option<Brokers>,
    /// The names of topics and groups, and the name of the deployment.
    pub(crate) topics: Topics,
    pub(crate) inbox: RunnerSettings,
    pub(crate) retention: LogRetention,
    pub(crate) relay: Relay,
    /// From the end of an audit to the next one; `None`: never.
    pub(crate) audit_pause: Option<Duration>,
    pub(crate) log: Log,
    /// `None`: spans are not exported.
    pub(crate) traces: Option<traces::Settings>,
    pub(crate) drain: Duration,
    pub(crate) service: S::Settings,
}

impl<S: Service> Config<S> {
    /// Reads the defaults and these environment variables. Returns all errors together.
    pub(crate) fn read(
        needs: Needs,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigErrors> {
        let mut reader = SettingsReader::new(S::NAME, &[DEFAULTS, S::DEFAULTS], variables);
        reader.read_mode();
        let config = Self {
            http: sections::http(&mut reader),
            edge: sections::edge(&mut reader),
            auth: auth::auth(&mut reader, needs == Needs::Serve),
            database: sections::database(&mut reader),
            migration_url: sections::migration_url(&mut reader),
            brokers: sections::brokers(&mut reader),
            topics: sections::deployment(&mut reader, needs.includes("deployment.name")),
            inbox: sections::inbox(&mut reader),
            retention: sections::retention(&mut reader),
            relay: sections::relay(&mut reader),
            audit_pause: sections::audit_pause(&mut reader),
            log: sections::log(&mut reader),
            traces: sections::traces(&mut reader),
            drain: sections::drain(&mut reader),
            service: S::settings(&mut reader),
        };
        reader.finish(|path| needs.includes(path)).map(|()| config)
    }
}

/// The environment variables of this process. Bytes that are not Unicode become U+FFFD. Otherwise a broken setting would
/// be ignored.
pub(crate) fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
}

/// Every setting with its default and its meaning.
pub(crate) fn defaults<S: Service>() -> String {
    format!("{DEFAULTS}\n{}", S::DEFAULTS)
}
