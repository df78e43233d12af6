//! The configuration, from the environment alone: every fault of it is told at once.

mod endpoint;
#[cfg(test)]
mod tests;

pub use endpoint::Endpoint;

use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use secrecy::SecretString;
use thiserror::Error;

const PORT: u16 = 8084;
const LOG_LEVEL: &str = "info";

/// What the process needs to know.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `IDEM_HTTP__BIND`: the address to listen on, 127.0.0.1 if absent.
    pub host: IpAddr,
    /// `IDEM_HTTP__PORT`: 8084 if absent; 0 lets the system choose.
    pub port: u16,
    /// `IDEM_DATABASE__URL`: as the role that serves.
    pub database: database::Settings,
    /// `IDEM_DATABASE__MIGRATION_URL`: as the owner. If it is there, migrations run at start.
    pub migration_url: Option<SecretString>,
    /// `IDEM_WEBHOOK__URL`: who is told of events, separated by commas; nobody if absent. `IDEM_WEBHOOK__SECRET`: what
    /// signs them; two, separated by a comma, while it is being rolled.
    pub endpoints: Vec<Endpoint>,
    /// How fast everything goes that takes its time.
    pub pace: Pace,
    /// `IDEM_LOG__LEVEL`: a level, or directives such as `info,provider=debug`; `info` if absent.
    pub log_level: String,
    /// `IDEM_LOG__FORMAT`: `pretty` or `json`.
    pub log_format: LogFormat,
}

/// How long things take. Tests turn hours into milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// `IDEM_KEYS__WINDOW_MS`: how long a key is remembered; a day if absent.
    pub key_window: Duration,
    /// `IDEM_BANK__DELAY_MS`: how long a bank takes for what it decides later; two seconds if absent.
    pub bank_delay: Duration,
    /// `IDEM_WEBHOOK__RETRY_MS`: the pause before the second attempt to deliver, doubling from there up to 64 times as
    /// long; a second if absent.
    pub webhook_retry: Duration,
    /// `IDEM_WEBHOOK__DEADLINE_MS`: how long an endpoint may take to answer; five seconds if absent.
    pub webhook_deadline: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            key_window: Duration::from_hours(24),
            bank_delay: Duration::from_secs(2),
            webhook_retry: Duration::from_secs(1),
            webhook_deadline: Duration::from_secs(5),
        }
    }
}

/// How log lines look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Pretty,
    /// For machines: one object for each line.
    Json,
}

/// Everything that is wrong with the configuration.
#[derive(Debug, Error)]
#[error("the configuration has {} fault(s):\n{}", .0.len(), .0.iter().map(|fault| format!("  - {fault}")).collect::<Vec<_>>().join("\n"))]
pub struct WrongSettings(pub Vec<String>);

impl Settings {
    /// Reads the settings that `serve` needs. `get` looks a variable up.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Result<Self, WrongSettings> {
        let mut reader = Reader { get, faults: Vec::new() };
        let url = reader.url("IDEM_DATABASE__URL", "the database's URL, as the role that serves");
        let settings = Self {
            host: reader.parsed("IDEM_HTTP__BIND", "an IP address", IpAddr::from([127, 0, 0, 1])),
            port: reader.parsed("IDEM_HTTP__PORT", "a port number, 0 to 65535", PORT),
            database: database::Settings::new(url.unwrap_or_default()),
            migration_url: reader.optional_url("IDEM_DATABASE__MIGRATION_URL"),
            endpoints: reader.endpoints(),
            pace: reader.pace(),
            log_level: reader.log_level(),
            log_format: reader.parsed("IDEM_LOG__FORMAT", "pretty or json", LogFormat::default()),
        };
        reader.end(settings)
    }

    /// Reads the one setting that `migrate` needs.
    pub fn read_for_migration(get: impl Fn(&str) -> Option<String>) -> Result<SecretString, WrongSettings> {
        let mut reader = Reader { get, faults: Vec::new() };
        let url = reader.url("IDEM_DATABASE__MIGRATION_URL", "the database's URL, as its owner");
        reader.end(url.unwrap_or_default().into())
    }
}

struct Reader<G> {
    get: G,
    faults: Vec<String>,
}

impl<G: Fn(&str) -> Option<String>> Reader<G> {
    fn parsed<T: FromStr>(&mut self, name: &str, expected: &str, default: T) -> T {
        match (self.get)(name).map(|text| text.parse()) {
            None => default,
            Some(Ok(value)) => value,
            Some(Err(_)) => {
                // The value is not repeated: variables get mixed up, and this might be a secret.
                self.faults.push(format!("{name} must be {expected}"));
                default
            }
        }
    }

    fn url(&mut self, name: &str, meaning: &str) -> Option<String> {
        let url = (self.get)(name);
        if url.is_none() {
            self.faults
                .push(format!("{name} is missing: {meaning}, postgres://role:password@host:port/provider"));
        }
        url.filter(|url| self.is_url(name, url))
    }

    fn optional_url(&mut self, name: &str) -> Option<SecretString> {
        let url = (self.get)(name).filter(|url| self.is_url(name, url));
        url.map(SecretString::from)
    }

    fn is_url(&mut self, name: &str, url: &str) -> bool {
        let is_url = url.starts_with("postgres://") || url.starts_with("postgresql://");
        if !is_url {
            self.faults.push(format!("{name} must start with postgres://"));
        }
        is_url
    }

    fn endpoints(&mut self) -> Vec<Endpoint> {
        let list = |text: Option<String>| -> Vec<String> {
            let text = text.unwrap_or_default();
            text.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
        };
        let (urls, secrets) =
            (list((self.get)("IDEM_WEBHOOK__URL")), list((self.get)("IDEM_WEBHOOK__SECRET")));
        let mut endpoints = Vec::new();
        for url in urls {
            let secrets = secrets.iter().map(|secret| secret.clone().into()).collect();
            match (Endpoint { url, secrets }).checked() {
                Ok(endpoint) => endpoints.push(endpoint),
                Err(why) => self.faults.push(format!("IDEM_WEBHOOK__URL and IDEM_WEBHOOK__SECRET: {why}")),
            }
        }
        endpoints
    }

    fn pace(&mut self) -> Pace {
        let usual = Pace::default();
        Pace {
            key_window: self.milliseconds("IDEM_KEYS__WINDOW_MS", usual.key_window),
            bank_delay: self.milliseconds("IDEM_BANK__DELAY_MS", usual.bank_delay),
            webhook_retry: self.milliseconds("IDEM_WEBHOOK__RETRY_MS", usual.webhook_retry),
            webhook_deadline: self.milliseconds("IDEM_WEBHOOK__DEADLINE_MS", usual.webhook_deadline),
        }
    }

    fn milliseconds(&mut self, name: &str, usual: Duration) -> Duration {
        let milliseconds = (self.get)(name).map(|text| text.parse::<u32>());
        match milliseconds {
            None => usual,
            Some(Ok(number)) if number > 0 => Duration::from_millis(number.into()),
            Some(_) => {
                self.faults.push(format!("{name} must be a number of milliseconds, 1 to {}", u32::MAX));
                usual
            }
        }
    }

    fn log_level(&mut self) -> String {
        let level = (self.get)("IDEM_LOG__LEVEL").unwrap_or_else(|| LOG_LEVEL.to_owned());
        if tracing_subscriber::EnvFilter::try_new(&level).is_err() {
            self.faults
                .push("IDEM_LOG__LEVEL must be error, warn, info, debug or trace, or directives".to_owned());
        }
        level
    }

    fn end<T>(self, read: T) -> Result<T, WrongSettings> {
        if self.faults.is_empty() { Ok(read) } else { Err(WrongSettings(self.faults)) }
    }
}

impl FromStr for LogFormat {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "pretty" => Ok(Self::Pretty),
            "json" => Ok(Self::Json),
            _ => Err(()),
        }
    }
}
