//! The settings, read from environment variables alone. Every wrong setting is reported at once.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use database::Address;
use secrecy::SecretString;
use serde::Deserialize;
use strum::EnumString;
use thiserror::Error;

const PORT: u16 = 8084;
const LOG_LEVEL: &str = "info";

/// The settings of the process.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `IDEM_HTTP__BIND`: the address to listen on; 127.0.0.1 if absent.
    pub host: IpAddr,
    /// `IDEM_HTTP__PORT`: 8084 if absent; 0 lets the system choose.
    pub port: u16,
    /// `IDEM_DATABASE__URL`: the database, with the service role.
    pub database: database::Settings,
    /// `IDEM_DATABASE__MIGRATION_URL`: the database, with the owner role. If present, the process migrates at start.
    pub migration_url: Option<SecretString>,
    /// `IDEM_WEBHOOK__URL` and `IDEM_WEBHOOK__SECRET`: the receiver of events; none if absent.
    pub endpoint: Option<Endpoint>,
    /// Delays, deadlines and the life of a key.
    pub timing: Timing,
    /// `IDEM_LOG__LEVEL`: a level, or directives such as `info,stripe_sim=debug`; `info` if absent.
    pub log_level: String,
    /// `IDEM_LOG__FORMAT`: `pretty` or `json`.
    pub log_format: LogFormat,
}

/// Delays, deadlines and the life of a key. Tests make them short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// `IDEM_KEYS__WINDOW_MS`: how long a key is remembered; a day if absent.
    pub key_window: Duration,
    /// `IDEM_BANK__DELAY_MS`: how long a bank takes for a decision that it makes later; 2 s if absent.
    pub bank_delay: Duration,
    /// `IDEM_WEBHOOK__RETRY_MS`: the pause before the second delivery attempt; 1 s if absent. It doubles, up to 64 times
    /// as long.
    pub webhook_retry: Duration,
    /// `IDEM_WEBHOOK__DEADLINE_MS`: how long an endpoint may take to answer; 5 s if absent.
    pub webhook_deadline: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            key_window: Duration::from_hours(24),
            bank_delay: Duration::from_secs(2),
            webhook_retry: Duration::from_secs(1),
            webhook_deadline: Duration::from_secs(5),
        }
    }
}

/// The form of log lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    #[default]
    Pretty,
    /// One JSON object a line.
    Json,
}

/// A receiver of webhooks.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Plain HTTP. A stand-in delivers to its own machine.
    pub url: String,
    /// Signs every event.
    pub secret: SecretString,
}

/// The body of `POST /_webhooks`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EndpointBody {
    url: String,
    secret: String,
}

impl Endpoint {
    /// Reads the body of `POST /_webhooks`. The error message repeats nothing of it, because the body holds a secret.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, String> {
        let Ok(EndpointBody { url, secret }) = serde_json::from_slice(body) else {
            return Err("the body must be {\"url\": \"http://…\", \"secret\": \"whsec_…\"}".to_owned());
        };
        Self { url, secret: secret.into() }.checked()
    }

    /// Returns the endpoint if events can be delivered to it; otherwise, why not.
    pub(crate) fn checked(self) -> Result<Self, String> {
        match reqwest::Url::parse(&self.url) {
            Ok(url) if url.scheme() == "http" => Ok(self),
            _ => Err("the URL must be complete and begin with http://".to_owned()),
        }
    }
}

/// All wrong settings.
#[derive(Debug, Error)]
#[error("wrong settings:\n{}", .0.iter().map(|error| format!("  - {error}")).collect::<Vec<_>>().join("\n"))]
pub struct SettingsError(pub Vec<String>);

impl Settings {
    /// Reads the settings. `get` looks a variable up.
    ///
    /// # Errors
    /// [`SettingsError`] names every wrong setting.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        let mut reader = Reader { get, errors: Vec::new() };
        let url = reader.url("IDEM_DATABASE__URL");
        if url.is_none() {
            let message = "IDEM_DATABASE__URL is missing: postgres://role:password@host:port/provider";
            reader.errors.push(message.to_owned());
        }
        let settings = Self {
            host: reader.parsed("IDEM_HTTP__BIND", "an IP address").unwrap_or(IpAddr::from([127, 0, 0, 1])),
            port: reader.parsed("IDEM_HTTP__PORT", "a port number, 0 to 65535").unwrap_or(PORT),
            database: database::Settings::new(url.unwrap_or_default()),
            migration_url: reader.url("IDEM_DATABASE__MIGRATION_URL").map(SecretString::from),
            endpoint: reader.endpoint(),
            timing: reader.timing(),
            log_level: reader.log_level(),
            log_format: reader.parsed("IDEM_LOG__FORMAT", "pretty or json").unwrap_or_default(),
        };
        if reader.errors.is_empty() { Ok(settings) } else { Err(SettingsError(reader.errors)) }
    }
}

struct Reader<G> {
    get: G,
    errors: Vec<String>,
}

impl<G: Fn(&str) -> Option<String>> Reader<G> {
    /// The value of a variable. A wrong one is an error, and counts as absent.
    fn parsed<T: FromStr>(&mut self, name: &str, expected: &str) -> Option<T> {
        let value = (self.get)(name)?.parse().ok();
        if value.is_none() {
            // The message leaves the value out, because the value may be a secret in the wrong variable.
            self.errors.push(format!("{name} must be {expected}"));
        }
        value
    }

    fn url(&mut self, name: &str) -> Option<String> {
        let url = (self.get)(name)?;
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            self.errors.push(format!("{name} must start with postgres://"));
        } else if let Err(error) = url.parse::<Address>().and_then(|address| address.check_files()) {
            self.errors.push(format!("{name}: {error}"));
        }
        Some(url)
    }

    fn endpoint(&mut self) -> Option<Endpoint> {
        let url = (self.get)("IDEM_WEBHOOK__URL")?;
        let endpoint = match (self.get)("IDEM_WEBHOOK__SECRET") {
            Some(secret) => Endpoint { url, secret: secret.into() }.checked(),
            None => Err("the secret is missing".to_owned()),
        };
        match endpoint {
            Ok(endpoint) => Some(endpoint),
            Err(error) => {
                self.errors.push(format!("IDEM_WEBHOOK__URL, IDEM_WEBHOOK__SECRET: {error}"));
                None
            }
        }
    }

    fn timing(&mut self) -> Timing {
        let default = Timing::default();
        Timing {
            key_window: self.milliseconds("IDEM_KEYS__WINDOW_MS", default.key_window),
            bank_delay: self.milliseconds("IDEM_BANK__DELAY_MS", default.bank_delay),
            webhook_retry: self.milliseconds("IDEM_WEBHOOK__RETRY_MS", default.webhook_retry),
            webhook_deadline: self.milliseconds("IDEM_WEBHOOK__DEADLINE_MS", default.webhook_deadline),
        }
    }

    fn milliseconds(&mut self, name: &str, default: Duration) -> Duration {
        let expected = format!("a number of milliseconds, 1 to {}", u32::MAX);
        let number = self.parsed::<NonZeroU32>(name, &expected);
        number.map_or(default, |number| Duration::from_millis(number.get().into()))
    }

    fn log_level(&mut self) -> String {
        let level = (self.get)("IDEM_LOG__LEVEL").unwrap_or_else(|| LOG_LEVEL.to_owned());
        if tracing_subscriber::EnvFilter::try_new(&level).is_err() {
            let message = "IDEM_LOG__LEVEL must be error, warn, info, debug or trace, or directives";
            self.errors.push(message.to_owned());
        }
        level
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        Settings::read(|name| {
            variables.iter().find(|(given, _)| *given == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn every_wrong_setting_is_reported_at_once() {
        let errors = read(&[
            ("IDEM_HTTP__BIND", "here"),
            ("IDEM_HTTP__PORT", "70000"),
            ("IDEM_DATABASE__MIGRATION_URL", "mysql://x"),
            ("IDEM_WEBHOOK__URL", "http://127.0.0.1:1/hook"),
            ("IDEM_BANK__DELAY_MS", "soon"),
            ("IDEM_KEYS__WINDOW_MS", "0"),
            ("IDEM_LOG__LEVEL", "info,[="),
            ("IDEM_LOG__FORMAT", "xml"),
        ])
        .unwrap_err();
        let text = errors.to_string();
        for name in
            ["BIND", "PORT", "DATABASE__URL", "MIGRATION_URL", "LEVEL", "FORMAT", "SECRET", "BANK", "KEYS"]
        {
            assert!(text.contains(name), "{text} does not name {name}");
        }
        assert_eq!(errors.0.len(), 9);
    }

    #[test]
    fn only_the_database_must_be_set() {
        let settings = read(&[("IDEM_DATABASE__URL", "postgres://localhost/provider")]).unwrap();
        assert_eq!((settings.port, settings.log_format), (8084, LogFormat::Pretty));
        assert!(settings.migration_url.is_none() && settings.endpoint.is_none());
    }

    #[test]
    fn a_value_is_never_printed() {
        let errors = read(&[("IDEM_HTTP__PORT", "hunter2"), ("IDEM_DATABASE__URL", "hunter2")]).unwrap_err();
        assert!(!errors.to_string().contains("hunter2"));
        let settings = read(&[
            ("IDEM_DATABASE__URL", "postgres://localhost/provider"),
            ("IDEM_WEBHOOK__URL", "http://127.0.0.1:1/a"),
            ("IDEM_WEBHOOK__SECRET", "whsec_hunter2"),
        ]);
        assert!(!format!("{:?}", settings.unwrap()).contains("hunter2"));
    }
}
