//! Short-lived clients, and the errors of their requests.
//!
//! Creating, using and dropping a client all block the thread. Callers therefore pass their work to [`blocking`].

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rdkafka::ClientContext;
use rdkafka::admin::{AdminClient, AdminOptions};
use rdkafka::client::OAuthToken;
use rdkafka::config::{ClientConfig, FromClientConfigAndContext, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, ConsumerContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};

use crate::brokers::TokenFile;
use crate::client_log::failure_of;
use crate::{Brokers, Error};

/// The longest time that one request to the brokers may take.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// A client of the consumer kind. Kafka's producer kind would create a topic by asking for it.
pub(crate) type ConsumerClient = BaseConsumer<DebugLog>;

/// More events than a client has after one request.
const EVENTS: usize = 64;

/// Logs at level debug. The caller gets the error itself, so an error line would repeat it.
pub(crate) struct DebugLog {
    token: TokenFile,
    /// Why the last connection failed. The error of a request says only that there is none.
    failure: Mutex<Option<String>>,
}

impl DebugLog {
    fn of(brokers: &Brokers) -> Self {
        Self { token: brokers.token(), failure: Mutex::default() }
    }

    pub(super) fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ClientContext for DebugLog {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    fn log(&self, _: RDKafkaLogLevel, facility: &str, text: &str) {
        if let Some(reason) = failure_of(facility, text) {
            // A poisoned lock is safe to use: the update is a single assignment.
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason.to_owned());
        }
        tracing::debug!(target: "kafka", facility, "{text}");
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(target: "kafka", %error, "{reason}");
    }

    fn generate_oauth_token(&self, _: Option<&str>) -> Result<OAuthToken, Box<dyn std::error::Error>> {
        self.token.read()
    }
}

impl ConsumerContext for DebugLog {}

/// Creates a client that reads metadata and offsets of topics.
pub(crate) fn metadata_client(brokers: &Brokers) -> Result<ConsumerClient, Error> {
    consumer_client(brokers, &brokers.client_config("idem-questions")?)
}

/// Creates a client that reads or sets the offsets of a group. It does not join the group.
pub(super) fn group_client(brokers: &Brokers, group: &str) -> Result<ConsumerClient, Error> {
    let mut config = brokers.client_config("idem-admin")?;
    config.set("group.id", group).set("enable.auto.commit", "false");
    consumer_client(brokers, &config)
}

pub(super) fn consumer_client(brokers: &Brokers, config: &ClientConfig) -> Result<ConsumerClient, Error> {
    let client = BaseConsumer::from_config_and_context(config, DebugLog::of(brokers))
        .map_err(|error| Error::configuration(&error))?;
    if brokers.token().is_given() {
        serve_events(&client); // one of them asks for the token
    }
    Ok(client)
}

/// Serves what has no other occasion in a client that only asks: requests for a token, and the errors of connections.
pub(super) fn serve_events(client: &ConsumerClient) {
    // A poll that served an event returns the same as one that found none.
    (0..EVENTS).for_each(|_| drop(client.poll(Duration::ZERO)));
}

/// Creates a client that creates topics or reads their properties, for this `action`.
pub(super) fn admin_client(brokers: &Brokers, action: &str) -> Result<AdminClient<DebugLog>, Error> {
    if brokers.token().is_given() {
        // The Rust crate never serves the events of this kind of client, so the client would not get its token.
        return Err(Error::refused(action, &"not with OAUTHBEARER; use the tools of the cluster"));
    }
    AdminClient::from_config_and_context(&brokers.client_config("idem-admin")?, DebugLog::of(brokers))
        .map_err(|error| Error::configuration(&error))
}

pub(super) fn admin_options() -> AdminOptions {
    AdminOptions::new().request_timeout(Some(REQUEST_TIMEOUT)).operation_timeout(Some(REQUEST_TIMEOUT))
}

/// Separates "no broker answered" from "a broker refused".
pub(super) fn unreachable_or_refused(
    brokers: &Brokers,
    timeout: Duration,
    action: &str,
    error: &KafkaError,
) -> Error {
    match error.rdkafka_error_code() {
        Some(
            RDKafkaErrorCode::BrokerTransportFailure
            | RDKafkaErrorCode::AllBrokersDown
            | RDKafkaErrorCode::OperationTimedOut
            | RDKafkaErrorCode::Resolve
            | RDKafkaErrorCode::WaitingForCoordinator,
        ) => {
            Error::Unreachable { brokers: brokers.bootstrap().to_owned(), timeout, reason: error.to_string() }
        }
        _ => Error::refused(action, error),
    }
}

/// Runs `work` on Tokio's pool for blocking work. A panic of `work` continues in the caller.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(failed) if failed.is_panic() => std::panic::resume_unwind(failed.into_panic()),
        Err(_) => Err(Error::refused("ask Kafka", &"the process is shutting down")),
    }
}
