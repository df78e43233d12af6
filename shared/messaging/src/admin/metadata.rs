//! Metadata of the cluster and its topics, and the health check that rests on it.

use std::time::Duration;

use rdkafka::consumer::Consumer;
use rdkafka::metadata::{Metadata, MetadataPartition};

use super::client::{self, ConsumerClient, REQUEST_TIMEOUT};
use crate::{Brokers, Error};

/// Succeeds if a broker answers a metadata request within `timeout` and names at least one broker.
///
/// An open port is not enough: a broker that is still starting accepts connections before it can serve them.
///
/// # Errors
/// [Those of every call](super#errors), with this time limit; [`Error::Unreachable`] also if the broker names none.
pub async fn health(brokers: &Brokers, timeout: Duration) -> Result<(), Error> {
    let brokers = brokers.clone();
    client::blocking(move || {
        let metadata = read_metadata(&client::metadata_client(&brokers)?, &brokers, timeout)?;
        if metadata.brokers().is_empty() {
            let reason = "its metadata names no broker yet".to_owned();
            return Err(Error::Unreachable { brokers: brokers.bootstrap().to_owned(), timeout, reason });
        }
        Ok(())
    })
    .await
}

/// Reads the metadata of all brokers and topics.
pub(super) fn read_metadata(
    client: &ConsumerClient,
    brokers: &Brokers,
    timeout: Duration,
) -> Result<Metadata, Error> {
    client.fetch_metadata(None, timeout).map_err(|error| {
        client::serve_events(client);
        match client::unreachable_or_refused(brokers, timeout, "read metadata", &error) {
            Error::Unreachable { brokers, timeout, reason } => {
                let reason = client.context().failure().unwrap_or(reason);
                Error::Unreachable { brokers, timeout, reason }
            }
            error => error,
        }
    })
}

/// Returns the partition numbers of a topic, in order.
pub(super) fn read_partitions(
    client: &ConsumerClient,
    brokers: &Brokers,
    topic: &str,
) -> Result<Vec<i32>, Error> {
    let metadata = read_metadata(client, brokers, REQUEST_TIMEOUT)?;
    let found = metadata.topics().iter().find(|found| found.name() == topic && found.error().is_none());
    let found = found.ok_or_else(|| Error::UnknownTopic { topic: topic.to_owned() })?;
    let mut partitions: Vec<i32> = found.partitions().iter().map(MetadataPartition::id).collect();
    partitions.sort_unstable();
    Ok(partitions)
}
