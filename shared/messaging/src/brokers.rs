//! The address of a Kafka cluster and the settings that all its clients share.
//!
//! The address is checked when it is parsed, so a typing mistake in the configuration stops the process at its start.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;

use crate::Error;

/// The brokers of one Kafka cluster: one `host:port`, or several separated by commas.
///
/// ```
/// let brokers: messaging::Brokers = "kafka-1:9092,kafka-2:9092".parse()?;
/// assert_eq!(brokers.bootstrap(), "kafka-1:9092,kafka-2:9092");
/// assert!("kafka".parse::<messaging::Brokers>().is_err(), "the port is missing");
/// # Ok::<(), messaging::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Brokers {
    bootstrap: String,
    extra: BTreeMap<String, String>,
}

impl Brokers {
    /// Adds a client setting under librdkafka's name, such as `security.protocol`.
    ///
    /// Settings that a promise of this crate depends on cannot be changed: publisher and subscription set them last.
    #[must_use]
    pub fn with(mut self, setting: impl Into<String>, value: impl Into<String>) -> Self {
        self.extra.insert(setting.into(), value.into());
        self
    }

    /// Returns the addresses as they were given.
    pub fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// Returns the settings that every client shares.
    pub(crate) fn client_config(&self, client_id: &str) -> ClientConfig {
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
        for (setting, value) in &self.extra {
            config.set(setting, value);
        }
        config
    }
}

impl FromStr for Brokers {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        for address in text.split(',') {
            let port =
                address.trim().rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port);
            if !port.is_some_and(|port| port.parse::<u16>().is_ok_and(|port| port != 0)) {
                return Err(Error::Configuration {
                    reason: format!("\"{address}\" is not host:port, such as localhost:9092"),
                });
            }
        }
        Ok(Self { bootstrap: text.to_owned(), extra: BTreeMap::new() })
    }
}

impl fmt::Display for Brokers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.bootstrap)
    }
}

/// Prints the names of the extra settings without their values, because a value may be a password.
impl fmt::Debug for Brokers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Brokers")
            .field("bootstrap", &self.bootstrap)
            .field("extra", &self.extra.keys().collect::<Vec<_>>())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_port_is_refused() {
        for bad in ["", "kafka", "kafka:", ":9092", "kafka:0", "kafka:http", "kafka:9092,", "a:1,,b:2"] {
            let error = bad.parse::<Brokers>().unwrap_err().to_string();
            assert!(error.contains("host:port"), "{bad:?}: {error}");
        }
        for good in ["localhost:9092", "a:1, b:2", "[::1]:9092"] {
            assert_eq!(good.parse::<Brokers>().unwrap().bootstrap(), good);
        }
    }

    #[test]
    fn a_password_is_not_in_the_debug_text() {
        let brokers = "a:1".parse::<Brokers>().unwrap().with("sasl.password", "hunter2");
        let text = format!("{brokers:?}");
        assert!(text.contains("sasl.password") && !text.contains("hunter2"), "{text}");
    }
}
