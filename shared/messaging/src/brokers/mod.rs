//! The address of a Kafka cluster and the settings that all its clients share.
//!
//! The address is checked when it is parsed, so a typing mistake in the configuration stops the process at its start.

mod renewal;
mod security;
mod token;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::net::IpAddr;
use std::str::FromStr;

use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;

pub use self::renewal::FileWatch;
use self::security::Security;
pub(crate) use self::token::TokenFile;
use crate::{Error, admin};

/// The brokers of one Kafka cluster, and how a client is secured: `host:port`, or several separated by commas, and
/// parameters after a question mark, as in a URL.
///
/// | Parameter | Meaning |
/// |---|---|
/// | `sslmode` | `verify-full`: TLS; the certificate of each broker must be valid for its host. `disable`: plain text. Without it, only brokers on this machine are reached in plain text, unless another parameter is given |
/// | `sslrootcert` | PEM file of the authorities that are trusted; otherwise those of the system |
/// | `sslcert`, `sslkey` | PEM files of this client's certificate and its key |
/// | `sasl` | `SCRAM-SHA-512`, `SCRAM-SHA-256`, `PLAIN` or `OAUTHBEARER`; only by TLS |
/// | `user`, `password_file` | the user, and the file that contains the password |
/// | `token_file` | for `OAUTHBEARER`: the file that contains the token, a JWT. Topics cannot be created with it |
///
/// There is no secret in it, so logs and errors may name it.
///
/// ```
/// let brokers: messaging::Brokers =
///     "kafka-1:9093,kafka-2:9093?sasl=SCRAM-SHA-512&user=orders&password_file=/run/secrets/kafka".parse()?;
/// assert_eq!(brokers.bootstrap(), "kafka-1:9093,kafka-2:9093");
/// assert!(brokers.is_encrypted());
/// assert!("kafka".parse::<messaging::Brokers>().is_err(), "the port is missing");
/// # Ok::<(), messaging::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Brokers {
    text: String,
    bootstrap: String,
    security: Security,
    extra: BTreeMap<String, String>,
}

impl Brokers {
    /// Adds a client setting under librdkafka's name, such as `topic.metadata.propagation.max.ms`.
    ///
    /// Settings that a promise of this crate depends on cannot be changed: publisher and subscription set them last.
    #[must_use]
    pub fn with(mut self, setting: impl Into<String>, value: impl Into<String>) -> Self {
        self.extra.insert(setting.into(), value.into());
        self
    }

    /// Returns the addresses as they were given, without the parameters.
    pub fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// Reports whether connections are encrypted, and the certificates of the brokers checked.
    pub fn is_encrypted(&self) -> bool {
        self.security.is_encrypted()
    }

    /// Checks that the files of certificates and of the password or token can be used, without asking a broker.
    ///
    /// # Errors
    /// [`Error::Configuration`] names the first file that cannot be used.
    pub fn check_files(&self) -> Result<(), Error> {
        let (files, token) = (self.security.files(), self.token());
        if token.is_given() {
            token.read().map_err(|error| Error::Configuration { reason: error.to_string() })?;
        } else if files.is_empty() {
            return Ok(());
        }
        for path in files {
            // The client's own error would not name the file.
            fs::read(&path)
                .map_err(|error| Error::Configuration { reason: format!("{}: {error}", path.display()) })?;
        }
        admin::metadata_client(self).map(drop) // the client reads the files when it is made
    }

    /// Returns the source of the token that a client logs in with.
    pub(crate) fn token(&self) -> TokenFile {
        TokenFile(self.security.token_file().map(ToOwned::to_owned))
    }

    /// Returns the settings that every client shares. Reads the file of the password.
    pub(crate) fn client_config(&self, client_id: &str) -> Result<ClientConfig, Error> {
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", &self.bootstrap)
            .set("client.id", client_id)
            .set("socket.keepalive.enable", "true")
            .set("socket.connection.setup.timeout.ms", "5000")
            .set("reconnect.backoff.ms", "100")
            .set("reconnect.backoff.max.ms", "1000") // Otherwise (10 s) a client is late when its broker is back
            .set("log.connection.close", "false") // ClientLog reports the state of the connection
            .set("enable.metrics.push", "false")
            .set_log_level(RDKafkaLogLevel::Info);
        self.security.apply(&mut config)?;
        for (setting, value) in &self.extra {
            config.set(setting, value);
        }
        Ok(config)
    }
}

impl FromStr for Brokers {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (bootstrap, parameters) = text.split_once('?').unwrap_or((text, ""));
        let mut is_local = true;
        for address in bootstrap.split(',') {
            is_local &= is_on_this_machine(host(address.trim())?);
        }
        let security = Security::read(parameters, is_local)
            .map_err(|reason| Error::Configuration { reason: reason.to_owned() })?;
        Ok(Self { text: text.to_owned(), bootstrap: bootstrap.to_owned(), security, extra: BTreeMap::new() })
    }
}

/// The host of `host:port`. The error does not repeat the text, which may be a secret in the wrong variable.
fn host(address: &str) -> Result<&str, Error> {
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port != 0);
    let host = address.rsplit_once(':').filter(|(host, port)| !host.is_empty() && is_port(port));
    host.map(|(host, _)| host).ok_or_else(|| Error::Configuration {
        reason: "an address is not host:port, such as localhost:9092".to_owned(),
    })
}

fn is_on_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

impl fmt::Display for Brokers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Prints no extra setting, because its value may be a password.
impl fmt::Debug for Brokers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Brokers").field(&self.text).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_port_is_refused() {
        for bad in [
            "",
            "kafka",
            "kafka:",
            ":9092",
            "kafka:0",
            "kafka:http",
            "kafka:9092,",
            "a:1,,b:2",
            "?sslmode=disable",
        ] {
            let error = bad.parse::<Brokers>().unwrap_err().to_string();
            assert!(error.contains("host:port"), "{bad:?}: {error}");
        }
        for good in ["localhost:9092", "a:1, b:2", "[::1]:9092"] {
            assert_eq!(good.parse::<Brokers>().unwrap().bootstrap(), good);
        }
    }

    #[test]
    fn only_brokers_on_this_machine_are_reached_in_plain_text_unless_it_is_set() {
        for local in ["localhost:9092", "127.0.0.1:1,[::1]:2"] {
            assert!(!local.parse::<Brokers>().unwrap().is_encrypted(), "{local}");
            assert!(
                format!("{local}?sslmode=verify-full").parse::<Brokers>().unwrap().is_encrypted(),
                "{local}"
            );
        }
        for remote in ["kafka:9092", "10.0.0.7:9092", "localhost:9092,kafka:9092", "localhost.example:1"] {
            assert!(remote.parse::<Brokers>().unwrap().is_encrypted(), "{remote}");
            let plain: Brokers = format!("{remote}?sslmode=disable").parse().unwrap();
            assert!(!plain.is_encrypted(), "{remote}");
        }
    }

    #[test]
    fn a_password_is_not_in_the_debug_text() {
        let brokers = "localhost:1".parse::<Brokers>().unwrap().with("sasl.password", "hunter2");
        assert_eq!(format!("{brokers:?}"), r#"Brokers("localhost:1")"#);
    }

    #[test]
    fn the_text_is_parsed_to_the_same_brokers() {
        let text = "kafka:9093?sslrootcert=/ca%20one.pem&sasl=PLAIN&user=a&password_file=/secret";
        let brokers: Brokers = text.parse().unwrap();
        assert_eq!(brokers.to_string().parse::<Brokers>().unwrap(), brokers);
    }
}
