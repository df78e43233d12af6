//! The address of a Kafka cluster and the settings that all its clients share.
//!
//! Both are checked when [`Brokers`] is made, so a typing mistake in the configuration stops the process at its start.

mod fault;
mod properties;
mod renewal;
mod token;

use std::env;
use std::fmt;
use std::fs::File;
use std::net::IpAddr;
use std::str::FromStr;

use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;

pub use self::fault::SettingFault;
use self::properties::Properties;
pub use self::renewal::FileWatch;
pub(crate) use self::token::TokenFile;
use crate::{Error, admin};

const ADDRESSES: &str = "kafka.brokers";

/// The brokers of one Kafka cluster, and the properties of its clients under librdkafka's own names.
///
/// Plain text to another machine needs `security.protocol` = `PLAINTEXT`. A login in plain text, and TLS that does not check
/// the certificate and the host of a broker, are refused. The value of `NAME.file` is the path of a file that contains the
/// value of `NAME`. For OAUTHBEARER, `sasl.oauthbearer.token.file` contains the token, a JWT; topics cannot be created with it.
///
/// ```
/// use messaging::Brokers;
/// let local: Brokers = "localhost:9092".parse()?;
/// let properties = [
///     ("security.protocol", "SASL_SSL"),
///     ("sasl.mechanism", "SCRAM-SHA-512"),
///     ("sasl.username", "orders"),
///     ("sasl.password.file", "/run/secrets/kafka"),
/// ];
/// let brokers = Brokers::new("kafka-1:9093,kafka-2:9093", properties).map_err(|faults| format!("{faults:?}"))?;
/// assert_eq!(brokers.bootstrap(), "kafka-1:9093,kafka-2:9093");
/// assert!("kafka".parse::<Brokers>().is_err(), "the port is missing");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Brokers {
    bootstrap: String,
    properties: Properties,
}

impl Brokers {
    /// Reads addresses, `host:port`, several separated by commas, and properties. In the name of a property, an underscore
    /// stands for a dot, as in a variable.
    ///
    /// # Errors
    /// All settings that cannot be used.
    pub fn new(
        addresses: &str,
        properties: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) -> Result<Self, Vec<SettingFault>> {
        let mut faults = Vec::new();
        let is_local = is_on_this_machine(addresses).unwrap_or_else(|fault| {
            faults.push(fault);
            true
        });
        let properties = properties.into_iter().map(|(name, value)| (name.into(), value.into()));
        match Properties::read(properties, is_local) {
            Ok(properties) if faults.is_empty() => Ok(Self { bootstrap: addresses.to_owned(), properties }),
            Ok(_) => Err(faults),
            Err(more) => Err([faults, more].concat()),
        }
    }

    /// Reads addresses, and properties from the variables that a service reads, `IDEM_KAFKA__PROPERTIES__…`. For tools.
    ///
    /// # Errors
    /// [`Error::Configuration`] names all settings that cannot be used.
    pub fn from_environment(addresses: &str) -> Result<Self, Error> {
        let properties = env::vars_os().filter_map(|(variable, value)| {
            let name = variable.to_str()?.strip_prefix("IDEM_KAFKA__PROPERTIES__")?.to_ascii_lowercase();
            Some((name, value.into_string().ok()?)).filter(|(_, value)| !value.is_empty())
        });
        Ok(Self::new(addresses, properties)?)
    }

    /// Returns the addresses as they were given.
    pub fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    /// Checks that a client can be made with the properties and their files, without asking a broker.
    ///
    /// # Errors
    /// The settings of all files that cannot be used, or what librdkafka has against the properties together.
    pub fn check_files(&self) -> Result<(), Vec<SettingFault>> {
        if self.properties.is_empty() {
            return Ok(());
        }
        // The client's own error would not name the file.
        let unreadable = self.properties.files().filter_map(|(setting, path)| {
            File::open(path).err().map(|error| SettingFault::unreadable(setting, path, &error))
        });
        let token = self.properties.token_file().and_then(|_| self.token().read().err());
        let faults: Vec<_> =
            unreadable.chain(token.map(|error| SettingFault::of_token(&error.to_string()))).collect();
        if !faults.is_empty() {
            return Err(faults);
        }
        // The client reads the files when it is made.
        admin::metadata_client(self).map(drop).map_err(|error| vec![SettingFault::of_properties(&error)])
    }

    /// Returns the source of the token that a client logs in with.
    pub(crate) fn token(&self) -> TokenFile {
        TokenFile(self.properties.token_file().map(ToOwned::to_owned))
    }

    /// Returns the settings that every client shares. Reads the files of secrets.
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
        self.properties.apply(&mut config).map_err(|fault| vec![fault])?;
        Ok(config)
    }
}

/// Reads addresses without properties.
impl FromStr for Brokers {
    type Err = Error;

    fn from_str(addresses: &str) -> Result<Self, Error> {
        Ok(Self::new(addresses, [("", ""); 0])?)
    }
}

/// Returns whether all addresses are of this machine. The error does not repeat the text, which may be a secret in the wrong
/// variable.
fn is_on_this_machine(addresses: &str) -> Result<bool, SettingFault> {
    let fault = |problem: &str| SettingFault { setting: ADDRESSES.to_owned(), problem: problem.to_owned() };
    if addresses.contains('?') {
        return Err(fault("must be host:port alone: what follows `?` is set by IDEM_KAFKA__PROPERTIES__…"));
    }
    let is_port = |port: &str| port.parse::<u16>().is_ok_and(|port| port != 0);
    let mut is_local = true;
    for address in addresses.split(',') {
        let host = address.trim().rsplit_once(':').filter(|(host, port)| !host.is_empty() && is_port(port));
        let (host, _) = host.ok_or_else(|| fault("must be host:port, several separated by commas"))?;
        let ip = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        is_local &= host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback());
    }
    Ok(is_local)
}

impl fmt::Display for Brokers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.bootstrap)
    }
}

/// Prints no property, because its value may be a password.
impl fmt::Debug for Brokers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Brokers").field(&self.bootstrap).finish()
    }
}

#[cfg(test)]
mod tests;
