//! What librdkafka says, as `tracing` events with target `kafka`: one line when the brokers go away and one when
//! they are back, however often the client tries in between.

use std::sync::{Mutex, PoisonError};

use rdkafka::Statistics;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};

/// How often a client reports the state of its connections, on which `ClientLog::statistics` rests.
pub(crate) const STATISTICS_INTERVAL_MS: &str = "1000";

/// The log of one long-lived client.
pub(crate) struct ClientLog {
    client: String,
    brokers: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    connection: Connection,
    last_problem: String,
}

#[derive(Default, PartialEq)]
enum Connection {
    #[default]
    Unknown,
    Up,
    Down,
}

impl ClientLog {
    pub(crate) fn new(client: impl Into<String>, brokers: impl Into<String>) -> Self {
        Self { client: client.into(), brokers: brokers.into(), state: Mutex::default() }
    }

    /// A log line of the library. Failed connections are its loudest subject and are told by `error` already.
    pub(crate) fn line(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        let client = self.client.as_str();
        match level {
            _ if matches!(facility, "FAIL" | "ERROR" | "REBOOTSTRAP") => {
                tracing::debug!(target: "kafka", client, facility, "{text}");
            }
            _ if facility == "GETPID" => self.problem(text), // tried again every half second
            RDKafkaLogLevel::Emerg
            | RDKafkaLogLevel::Alert
            | RDKafkaLogLevel::Critical
            | RDKafkaLogLevel::Error => tracing::error!(target: "kafka", client, facility, "{text}"),
            RDKafkaLogLevel::Warning => tracing::warn!(target: "kafka", client, facility, "{text}"),
            RDKafkaLogLevel::Notice => tracing::info!(target: "kafka", client, facility, "{text}"),
            RDKafkaLogLevel::Info | RDKafkaLogLevel::Debug => {
                tracing::debug!(target: "kafka", client, facility, "{text}");
            }
        }
    }

    /// An error of the client as a whole. The library mends all but the fatal ones by itself.
    pub(crate) fn error(&self, error: &KafkaError, reason: &str) {
        let (client, brokers) = (self.client.as_str(), self.brokers.as_str());
        match error.rdkafka_error_code() {
            Some(RDKafkaErrorCode::AllBrokersDown) => {
                if self.moves_to(Connection::Down) {
                    tracing::warn!(target: "kafka", client, brokers, "no Kafka broker can be reached; trying until one answers");
                }
            }
            Some(RDKafkaErrorCode::BrokerTransportFailure | RDKafkaErrorCode::Resolve) => {
                tracing::debug!(target: "kafka", client, "{reason}");
            }
            Some(RDKafkaErrorCode::Fatal) => tracing::error!(target: "kafka", client, "fatal: {reason}"),
            _ => self.problem(reason),
        }
    }

    /// A trouble that may be repeated every second: said when it begins, not while it lasts.
    pub(crate) fn problem(&self, reason: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.last_problem != reason {
            reason.clone_into(&mut state.last_problem);
            tracing::warn!(target: "kafka", client = self.client.as_str(), "{reason}");
        }
    }

    /// The periodic report: the only place where the library says that a connection stands.
    pub(crate) fn statistics(&self, statistics: &Statistics) {
        let up = statistics.brokers.values().any(|broker| broker.state == "UP");
        if up && self.moves_to(Connection::Up) {
            let (client, brokers) = (self.client.as_str(), self.brokers.as_str());
            tracing::info!(target: "kafka", client, brokers, "connected to Kafka");
        }
    }

    /// Whether this is a change. What was wrong before it may be said again after it.
    fn moves_to(&self, connection: Connection) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.connection == connection {
            return false;
        }
        *state = State { connection, last_problem: String::new() };
        true
    }
}
