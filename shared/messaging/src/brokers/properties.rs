//! `Properties`: the settings of the Kafka client under librdkafka's own names, and the rules that they must keep.
//!
//! librdkafka is asked about each name and value, but no client is made for it, so no broker is asked.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rdkafka::ClientConfig;
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaConfRes;

use super::SettingFault;

/// Properties on which a promise of this crate rests, with their aliases: a client sets them, or needs their defaults.
pub(super) const OWN: &str = "acks allow.auto.create.topics auto.commit.enable auto.commit.interval.ms auto.offset.reset bootstrap.servers \
    check.crcs client.id compression.codec compression.type delivery.report.only.error delivery.timeout.ms \
    enable.auto.commit enable.auto.offset.store enable.idempotence enable.partition.eof \
    enable.sasl.oauthbearer.unsecure.jwt fetch.message.max.bytes fetch.queue.backoff.ms group.id \
    group.instance.id group.protocol heartbeat.interval.ms isolation.level linger.ms max.partition.fetch.bytes \
    max.poll.interval.ms message.timeout.ms metadata.broker.list partition.assignment.strategy partitioner \
    queue.buffering.max.kbytes queue.buffering.max.messages queue.buffering.max.ms queued.max.messages.kbytes \
    request.required.acks session.timeout.ms statistics.interval.ms topic.metadata.refresh.interval.ms \
    transactional.id";

/// Certificates of brokers are always checked.
const VERIFICATION: [(&str, &str); 2] =
    [("enable.ssl.certificate.verification", "true"), ("ssl.endpoint.identification.algorithm", "https")];

/// The token of OAUTHBEARER. librdkafka has no such property, because it asks the program for the token.
const TOKEN: &str = "sasl.oauthbearer.token";

/// Finds the authorities where the distributions of Linux keep them.
const PROBE: &str = "probe";

const PROTOCOL: &str = "security.protocol";
const MECHANISM: &str = "sasl.mechanisms";

/// The values, by librdkafka's name.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Properties(BTreeMap<String, Value>);

#[derive(Clone, PartialEq, Eq)]
enum Value {
    Text(String),
    /// The path of a file that contains the value.
    File(PathBuf),
}

impl Properties {
    /// Reads names and values. In a name, an underscore stands for a dot, because no property has one that may be set as text.
    /// With `.file` at the end, the value is a path, unless librdkafka itself has that property.
    pub(super) fn read(
        given: impl IntoIterator<Item = (String, String)>,
        is_local: bool,
    ) -> Result<Self, Vec<SettingFault>> {
        let (mut properties, mut faults) = (Self::default(), Vec::new());
        for (name, text) in given {
            let name = name.replace('_', ".");
            let (property, value) = match name.strip_suffix(".file") {
                Some(property) if refusal(&name, "") == Some(UNKNOWN) => (property, Value::File(text.into())),
                _ => (name.as_str(), Value::Text(text)),
            };
            let problem = problem(property, &value);
            let property = if property == "sasl.mechanism" { MECHANISM } else { property };
            let is_second = properties.0.insert(property.to_owned(), value).is_some();
            let problem = problem.or_else(|| is_second.then(|| "is set twice".to_owned()));
            faults.extend(problem.map(|problem| fault(&name, problem)));
        }
        if faults.is_empty() {
            faults.extend(
                properties.insecurity(is_local).map(|(name, problem)| fault(name, problem.to_owned())),
            );
        }
        if faults.is_empty() { Ok(properties) } else { Err(faults) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the file of the token, which a client reads again by itself.
    pub(super) fn token_file(&self) -> Option<&Path> {
        match self.0.get(TOKEN) {
            Some(Value::File(path)) => Some(path),
            _ => None,
        }
    }

    /// Returns the files and folders that a client reads only when it is made, each with the setting that names it.
    pub(super) fn files(&self) -> impl Iterator<Item = (String, &Path)> {
        self.0.iter().filter(|(name, _)| *name != TOKEN).filter_map(|(name, value)| match value {
            Value::File(path) => Some((setting(&format!("{name}.file")), path.as_path())),
            Value::Text(path) if name.ends_with(".location") && path != PROBE => {
                Some((setting(name), Path::new(path)))
            }
            Value::Text(_) => None,
        })
    }

    /// Sets the properties. The error names a file that cannot be read.
    pub(super) fn apply(&self, config: &mut ClientConfig) -> Result<(), SettingFault> {
        if !self.0.keys().any(|name| name.starts_with("ssl.ca.")) {
            config.set("ssl.ca.location", PROBE);
        }
        for (name, value) in self.0.iter().filter(|(name, _)| *name != TOKEN) {
            match value {
                Value::Text(text) => config.set(name, text),
                Value::File(path) => {
                    let text = fs::read_to_string(path).map_err(|error| {
                        SettingFault::unreadable(setting(&format!("{name}.file")), path, &error)
                    })?;
                    // Editors and `echo` end a file with a newline, which is not part of the value.
                    config.set(name, text.trim_end_matches(['\r', '\n']))
                }
            };
        }
        config.extend(VERIFICATION.map(|(name, value)| (name.to_owned(), value.to_owned())));
        Ok(())
    }

    /// The upper-case text of a property whose values are words.
    fn word(&self, name: &str) -> Option<String> {
        match self.0.get(name) {
            Some(Value::Text(text)) => Some(text.to_ascii_uppercase()),
            _ => None,
        }
    }

    /// Returns the property that would send a login or data in plain text, or leave a login out.
    fn insecurity(&self, is_local: bool) -> Option<(&'static str, &'static str)> {
        let has = |group: &str| self.0.keys().any(|name| name.starts_with(group));
        let problem = match self.word(PROTOCOL).as_deref() {
            Some("SASL_SSL") => return self.token_problem(),
            Some("SASL_PLAINTEXT") => "must be SASL_SSL, because a login is not sent in plain text",
            _ if has("sasl.") => "must be SASL_SSL, because a property of sasl is set",
            Some("SSL") => return None,
            _ if has("ssl.") => "must be SSL or SASL_SSL, because a property of ssl is set",
            None if !is_local => {
                "is missing: SSL or SASL_SSL, because a broker is on another machine; PLAINTEXT allows plain text"
            }
            _ => return None,
        };
        Some((PROTOCOL, problem))
    }

    fn token_problem(&self) -> Option<(&'static str, &'static str)> {
        let is_for_tokens = self.word(MECHANISM).is_some_and(|mechanism| mechanism == "OAUTHBEARER");
        match (is_for_tokens, self.token_file()) {
            (true, None) => {
                Some(("sasl.oauthbearer.token.file", "is missing: the path of the token, for OAUTHBEARER"))
            }
            (false, Some(_)) => Some(("sasl.mechanism", "must be OAUTHBEARER, because a token is given")),
            (true, Some(_)) | (false, None) => None,
        }
    }
}

const UNKNOWN: &str = "is not a property of librdkafka; its CONFIGURATION.md lists them";

/// Returns why a property cannot be used, without its value, which may be a secret.
fn problem(property: &str, value: &Value) -> Option<String> {
    if OWN.split(' ').any(|own| own == property) {
        return Some("must not be set: the service sets this property itself".to_owned());
    }
    let (text, is_file) = match value {
        Value::Text(text) => (text.as_str(), false),
        Value::File(_) => ("", true),
    };
    if property == TOKEN {
        return (!is_file).then(|| "must be given by a file: add `_file` to the name".to_owned());
    }
    if let Some((_, fixed)) = VERIFICATION.iter().find(|(name, fixed)| *name == property && *fixed != text) {
        return Some(format!("must be {fixed}, because certificates are always checked"));
    }
    refusal(property, text).filter(|refusal| !is_file || *refusal == UNKNOWN).map(ToOwned::to_owned)
}

/// Returns what librdkafka has against a name or a value.
fn refusal(name: &str, value: &str) -> Option<&'static str> {
    match ClientConfig::new().set(name, value).create_native_config() {
        Ok(_) => None,
        Err(KafkaError::ClientConfig(RDKafkaConfRes::RD_KAFKA_CONF_UNKNOWN, ..)) => Some(UNKNOWN),
        Err(_) => Some("has a value that librdkafka refuses; its CONFIGURATION.md lists the values"),
    }
}

fn fault(property: &str, problem: String) -> SettingFault {
    SettingFault { setting: setting(property), problem }
}

fn setting(property: &str) -> String {
    format!("kafka.properties.{}", property.replace('.', "_"))
}
