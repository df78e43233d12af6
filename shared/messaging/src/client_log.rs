//! Writes librdkafka's log lines, errors and connection states as `tracing` events with target `kafka`.
//!
//! An outage of the brokers gives one line at its begin and one at its end, however often the client retries in between.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rdkafka::Statistics;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};

/// How often a client reports the state of its connections to `ClientLog::statistics`.
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
    /// The last warning, so that a repetition is not logged.
    last_problem: String,
}

#[derive(Default, PartialEq)]
enum Connection {
    #[default]
    Unknown,
    Up,
    Down,
}

/// Returns the reason of a failed connection from a log line, without thread and duration. The library reports an error of
/// a TLS handshake only in its log.
pub(crate) fn failure_of<'a>(facility: &str, text: &'a str) -> Option<&'a str> {
    let without_thread = text.split_once("]: ").map_or(text, |(_, reason)| reason);
    let reason = without_thread.split_once(" (after ").map_or(without_thread, |(reason, _)| reason);
    (facility == "FAIL").then_some(reason)
}

impl ClientLog {
    pub(crate) fn new(client: impl Into<String>, brokers: impl Into<String>) -> Self {
        Self { client: client.into(), brokers: brokers.into(), state: Mutex::default() }
    }

    /// Writes a log line of the library. Lines about failed connections get level debug, because `error` logs the outage.
    pub(crate) fn line(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        let client = self.client.as_str();
        match level {
            // No error follows it, and waiting does not help.
            _ if let Some(reason) = failure_of(facility, text).filter(|reason| reason.contains("SSL ")) => {
                self.problem(reason);
            }
            _ if matches!(facility, "FAIL" | "SSL" | "ERROR" | "REBOOTSTRAP") => {
                tracing::debug!(target: "kafka", client, facility, "{text}");
            }
            _ if facility == "GETPID" => self.problem(text), // the client retries every 500 ms
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

    /// Writes an error of the client as a whole. The library recovers from every error that is not fatal.
    pub(crate) fn error(&self, error: &KafkaError, reason: &str) {
        let (client, brokers) = (self.client.as_str(), self.brokers.as_str());
        match error.rdkafka_error_code() {
            Some(RDKafkaErrorCode::AllBrokersDown) => {
                if self.set_connection(Connection::Down) {
                    tracing::warn!(target: "kafka", client, brokers, "no Kafka broker can be reached; the client retries until one answers");
                }
            }
            Some(RDKafkaErrorCode::BrokerTransportFailure | RDKafkaErrorCode::Resolve) => {
                tracing::debug!(target: "kafka", client, "{reason}");
            }
            Some(RDKafkaErrorCode::Fatal) => {
                tracing::error!(target: "kafka", client, "fatal error of the Kafka client: {reason}");
            }
            _ => self.problem(reason),
        }
    }

    /// Writes a warning, unless it repeats the last one.
    pub(crate) fn problem(&self, reason: &str) {
        let mut state = self.lock();
        if state.last_problem != reason {
            reason.clone_into(&mut state.last_problem);
            tracing::warn!(target: "kafka", client = self.client.as_str(), "{reason}");
        }
    }

    /// Reads the periodic statistics. Only they say that a connection is up.
    pub(crate) fn statistics(&self, statistics: &Statistics) {
        let up = statistics.brokers.values().any(|broker| broker.state == "UP");
        if up && self.set_connection(Connection::Up) {
            let (client, brokers) = (self.client.as_str(), self.brokers.as_str());
            tracing::info!(target: "kafka", client, brokers, "connected to Kafka");
        }
    }

    /// Returns whether the state of the connection changed. After a change, the last warning may be logged again.
    fn set_connection(&self, connection: Connection) -> bool {
        let mut state = self.lock();
        if state.connection == connection {
            return false;
        }
        *state = State { connection, last_problem: String::new() };
        true
    }

    /// A poisoned lock is safe to use: each update is a single assignment.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use super::*;

    #[test]
    fn what_tls_refuses_is_logged_once() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&lines);
        let subscriber = tracing_subscriber::fmt().with_writer(move || Lines(Arc::clone(&written))).finish();
        tracing::subscriber::with_default(subscriber, || {
            let log = ClientLog::new("a-relay", "kafka:9093");
            for time in ["1ms", "5ms"] {
                let text =
                    format!("[thrd:b]: b: SSL handshake failed: unknown authority (after {time} in state X)");
                log.line(RDKafkaLogLevel::Error, "FAIL", &text);
                log.line(RDKafkaLogLevel::Error, "SSL", "[thrd:b]: b: a detail");
            }
        });
        let lines = String::from_utf8(lines.lock().unwrap().clone()).unwrap();
        assert_eq!(lines.matches("b: SSL handshake failed: unknown authority").count(), 1, "{lines}");
        assert_eq!(lines.lines().count(), 1, "{lines}");
    }

    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}
