//! Short-lived clients for questions and administration: made, used and dropped on the blocking pool, because
//! making, asking and dropping all block.

use std::time::Duration;

use rdkafka::ClientContext;
use rdkafka::config::{FromClientConfigAndContext, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::metadata::Metadata;

use crate::{Brokers, Error};

/// How long one question to the brokers may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// The context of a short-lived client. Its caller gets the error, so its log lines are for debugging alone.
pub(crate) struct Quiet;

impl ClientContext for Quiet {
    fn log(&self, _: RDKafkaLogLevel, facility: &str, text: &str) {
        tracing::debug!(target: "kafka", facility, "{text}");
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(target: "kafka", %error, "{reason}");
    }
}

impl ConsumerContext for Quiet {}

/// A client that only asks. It is of the consumer kind, which never creates a topic by asking for it.
pub(crate) fn questioner(brokers: &Brokers) -> Result<BaseConsumer<Quiet>, Error> {
    let config = brokers.client_config("idem-questions");
    BaseConsumer::from_config_and_context(&config, Quiet).map_err(|error| Error::configuration(&error))
}

/// What the brokers know about themselves and all topics.
pub(crate) fn metadata(
    client: &BaseConsumer<Quiet>,
    brokers: &Brokers,
    timeout: Duration,
) -> Result<Metadata, Error> {
    client
        .fetch_metadata(None, timeout)
        .map_err(|error| unreachable_or(brokers, timeout, "read metadata", &error))
}

/// The numbers of a topic's partitions.
pub(crate) fn partitions(
    client: &BaseConsumer<Quiet>,
    brokers: &Brokers,
    topic: &str,
) -> Result<Vec<i32>, Error> {
    let metadata = metadata(client, brokers, PATIENCE)?;
    let found = metadata.topics().iter().find(|found| found.name() == topic && found.error().is_none());
    let mut ids: Vec<i32> = found
        .ok_or_else(|| Error::UnknownTopic { topic: topic.to_owned() })?
        .partitions()
        .iter()
        .map(rdkafka::metadata::MetadataPartition::id)
        .collect();
    ids.sort_unstable();
    Ok(ids)
}

/// Tells "nobody answers" from "the answer is no".
pub(crate) fn unreachable_or(
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
        ) => Error::Unreachable { brokers: brokers.to_string(), timeout, reason: error.to_string() },
        _ => Error::refused(action, error),
    }
}

/// Runs what blocks where blocking is allowed.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(failed) if failed.is_panic() => std::panic::resume_unwind(failed.into_panic()),
        Err(_) => Err(Error::refused("ask Kafka", &"the process is shutting down")),
    }
}
