//! Topics that exist before anybody uses them: the brokers create none by themselves, and the number of
//! partitions decides which keys meet.

use std::time::{Duration, Instant};

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::config::FromClientConfigAndContext;
use rdkafka::consumer::BaseConsumer;
use rdkafka::error::RDKafkaErrorCode;
use rdkafka::metadata::MetadataTopic;
use tokio::runtime::Handle;

use crate::client::{self, PATIENCE, Quiet};
use crate::{Brokers, Error};

/// A topic that must be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicSpec {
    /// Its name.
    pub name: String,
    /// How many partitions it must have.
    pub partitions: i32,
}

impl TopicSpec {
    /// A topic of this name with so many partitions.
    pub fn new(name: impl Into<String>, partitions: i32) -> Self {
        Self { name: name.into(), partitions }
    }
}

/// Creates what is missing and returns once every topic can be used. Topics that are there already are left as
/// they are, without a right to create topics being needed; one with another number of partitions is an error.
/// New topics get the brokers' own replication factor. Any number of processes may do this at the same time.
pub async fn ensure(brokers: &Brokers, topics: &[TopicSpec]) -> Result<(), Error> {
    let (brokers, topics) = (brokers.clone(), topics.to_vec());
    let runtime = Handle::current();
    client::blocking(move || {
        let questioner = client::questioner(&brokers)?;
        let missing = unusable(&questioner, &brokers, &topics)?;
        if missing.is_empty() {
            return Ok(());
        }
        runtime.block_on(create(&brokers, &missing))?;
        wait_until_usable(&questioner, &brokers, &topics)
    })
    .await
}

async fn create(brokers: &Brokers, topics: &[TopicSpec]) -> Result<(), Error> {
    let client = admin_client(brokers)?;
    let new: Vec<NewTopic<'_>> = topics
        .iter()
        .map(|topic| NewTopic::new(&topic.name, topic.partitions, TopicReplication::Fixed(-1)))
        .collect();
    let results = client
        .create_topics(&new, &admin_options())
        .await
        .map_err(|error| client::unreachable_or(brokers, PATIENCE, "create topics", &error))?;
    for result in results {
        match result {
            Ok(name) => tracing::info!(target: "kafka", topic = name, "topic created"),
            Err((_, RDKafkaErrorCode::TopicAlreadyExists)) => {}
            Err((name, code)) => return Err(Error::refused(format!("create the topic {name}"), &code)),
        }
    }
    Ok(())
}

/// A created topic is known to the other brokers, and has leaders, a moment later.
fn wait_until_usable(
    client: &BaseConsumer<Quiet>,
    brokers: &Brokers,
    topics: &[TopicSpec],
) -> Result<(), Error> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let missing = unusable(client, brokers, topics)?;
        let Some(first) = missing.first() else { return Ok(()) };
        if Instant::now() > deadline {
            let reason = "the brokers report no leader for its partitions";
            return Err(Error::refused(format!("use the topic {}", first.name), &reason));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The topics that do not exist, or have a partition without a leader.
fn unusable(
    client: &BaseConsumer<Quiet>,
    brokers: &Brokers,
    topics: &[TopicSpec],
) -> Result<Vec<TopicSpec>, Error> {
    let metadata = client::metadata(client, brokers, PATIENCE)?;
    let mut missing = Vec::new();
    for topic in topics {
        let found = metadata.topics().iter().find(|found| found.name() == topic.name);
        match found.map(leaders) {
            None | Some(None) => missing.push(topic.clone()),
            Some(Some(found)) if i32::try_from(found) == Ok(topic.partitions) => {}
            Some(Some(found)) => {
                let (topic, expected) = (topic.name.clone(), topic.partitions);
                return Err(Error::PartitionCount { topic, expected, found });
            }
        }
    }
    Ok(missing)
}

/// The number of a topic's partitions, once all of them have a leader.
fn leaders(topic: &MetadataTopic) -> Option<usize> {
    let partitions = topic.partitions();
    let led = topic.error().is_none() && partitions.iter().all(|partition| partition.leader() >= 0);
    (led && !partitions.is_empty()).then_some(partitions.len())
}

pub(crate) fn admin_client(brokers: &Brokers) -> Result<AdminClient<Quiet>, Error> {
    AdminClient::from_config_and_context(&brokers.client_config("idem-admin"), Quiet)
        .map_err(|error| Error::configuration(&error))
}

pub(crate) fn admin_options() -> AdminOptions {
    AdminOptions::new().request_timeout(Some(PATIENCE)).operation_timeout(Some(PATIENCE))
}
