//! The configuration, from the environment alone: every fault of it is told at once.

use std::net::IpAddr;
use std::str::FromStr;

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
    /// `IDEM_LOG__LEVEL`: a level, or directives such as `info,provider=debug`; `info` if absent.
    pub log_level: String,
    /// `IDEM_LOG__FORMAT`: `pretty` or `json`.
    pub log_format: LogFormat,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Settings, WrongSettings> {
        Settings::read(|name| {
            variables.iter().find(|(given, _)| *given == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn every_fault_is_told_at_once() {
        let faults = read(&[
            ("IDEM_HTTP__BIND", "here"),
            ("IDEM_HTTP__PORT", "70000"),
            ("IDEM_DATABASE__MIGRATION_URL", "mysql://x"),
            ("IDEM_LOG__LEVEL", "info,[="),
            ("IDEM_LOG__FORMAT", "xml"),
        ])
        .unwrap_err();
        let text = faults.to_string();
        for name in
            ["HTTP__BIND", "HTTP__PORT", "DATABASE__URL", "MIGRATION_URL", "LOG__LEVEL", "LOG__FORMAT"]
        {
            assert!(text.contains(name), "{name} is not told of in {text}");
        }
        assert_eq!(faults.0.len(), 6);
    }

    #[test]
    fn the_database_is_the_only_thing_that_must_be_set() {
        let settings = read(&[("IDEM_DATABASE__URL", "postgres://localhost/provider")]).unwrap();
        assert_eq!((settings.port, settings.log_format), (8084, LogFormat::Pretty));
        assert!(settings.migration_url.is_none());
    }

    #[test]
    fn a_wrong_value_is_not_repeated() {
        let faults = read(&[("IDEM_HTTP__PORT", "hunter2"), ("IDEM_DATABASE__URL", "hunter2")]).unwrap_err();
        assert!(!faults.to_string().contains("hunter2"));
    }
}
