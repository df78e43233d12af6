//! Administration of the shared broker that only tests need: changing topics, deleting topics and groups, and a client for the rest.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use messaging::{Brokers, admin};
use rdkafka::admin::{AdminClient, AdminOptions, AlterConfig, ResourceSpecifier};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::{Offset, TopicPartitionList};

use crate::topics::retry;
use crate::{eventually, given};

const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the members of a group may take to leave it. A killed member leaves when its session ends.
const LEAVING: Duration = Duration::from_mins(1);

/// A client of the shared broker, with the properties that a service would get.
pub fn admin_client() -> AdminClient<DefaultClientContext> {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", given("IDEM_KAFKA_BROKERS"));
    for (name, value) in std::env::vars().filter(|(_, value)| !value.is_empty()) {
        let Some(property) = name.strip_prefix("IDEM_KAFKA__PROPERTIES__") else { continue };
        let property = property.to_lowercase().replace('_', ".");
        match property.strip_suffix(".file") {
            Some(secret) => config.set(secret, std::fs::read_to_string(value).unwrap().trim_end()),
            None => config.set(property, value),
        };
    }
    config.create().unwrap()
}

/// Sets a property of a topic of the shared broker.
pub async fn configure_topic(topic: &str, name: &str, value: &str) {
    let config = AlterConfig::new(ResourceSpecifier::Topic(topic)).set(name, value);
    let altered = admin_client().alter_configs(&[config], &options()).await.unwrap();
    assert!(altered.iter().all(Result::is_ok), "{altered:?}");
}

/// Removes all records of a topic of the shared broker, as retention does.
pub async fn remove_records(topic: &str) {
    let brokers = Brokers::from_environment(&given("IDEM_KAFKA_BROKERS")).unwrap();
    let mut list = TopicPartitionList::new();
    for (partition, end) in retry(async || admin::end_offsets(&brokers, topic).await).await {
        list.add_partition_offset(topic, partition, Offset::Offset(end)).unwrap();
    }
    let removed = admin_client().delete_records(&list, &options()).await.unwrap();
    assert!(removed.elements().iter().all(|partition| partition.error().is_ok()), "{removed:?}");
}

/// Deletes topics of the shared broker, and returns once it no longer shows them. A topic that does not exist counts as deleted.
///
/// # Errors
/// The broker's refusal.
pub async fn delete_topics(topics: &[impl AsRef<str>]) -> KafkaResult<()> {
    let topics = distinct(topics);
    if topics.is_empty() {
        return Ok(());
    }
    let client = admin_client();
    check(client.delete_topics(&topics, &options()).await, RDKafkaErrorCode::UnknownTopicOrPartition)?;
    // The controller answers a deletion before the broker applies it: until then a message can still be written.
    eventually("the broker no longer shows the deleted topics", async || {
        let metadata = client.inner().fetch_metadata(None, REQUEST_TIMEOUT).ok()?;
        (!metadata.topics().iter().any(|shown| topics.contains(&shown.name()))).then_some(())
    })
    .await;
    Ok(())
}

/// Deletes groups of the shared broker and their offsets, once their members have left. Dropped consumers leave in the
/// background. A group that does not exist counts as deleted.
///
/// # Errors
/// The broker's last refusal, after a minute: a group still has members.
pub async fn delete_groups(groups: &[impl AsRef<str>]) -> KafkaResult<()> {
    let groups = distinct(groups);
    if groups.is_empty() {
        return Ok(());
    }
    let (client, start) = (admin_client(), Instant::now());
    loop {
        let results = client.delete_groups(&groups, &options()).await;
        let deleted = check(results, RDKafkaErrorCode::GroupIdNotFound);
        if deleted.is_ok() || start.elapsed() > LEAVING {
            return deleted;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Deletes all topics and groups of the shared broker with this prefix. Panics if one is left.
///
/// It works in a thread of its own, because a caller that is being dropped may run on a runtime that is already stopping.
pub fn clear_shared_broker(prefix: &str) {
    let clear = async || {
        let brokers = Brokers::from_environment(&given("IDEM_KAFKA_BROKERS")).unwrap();
        let own = |mut names: Vec<String>| {
            names.retain(|name| name.starts_with(prefix));
            names
        };
        let topics = own(retry(async || admin::topics::names(&brokers).await).await);
        let groups = own(retry(async || admin::groups(&brokers).await).await);
        let (deleted, left) = tokio::join!(delete_topics(&topics), delete_groups(&groups));
        deleted.unwrap();
        left.unwrap_or_else(|error| panic!("{error}; {groups:?}: stop the consumers before the test ends"));
    };
    let cleared = std::thread::scope(|scope| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        scope.spawn(move || runtime.block_on(clear())).join()
    });
    assert!(std::thread::panicking() || cleared.is_ok(), "topics or groups of {prefix}* were left");
}

/// Each name once. Otherwise the client crashes, or the broker refuses the request.
fn distinct(names: &[impl AsRef<str>]) -> Vec<&str> {
    names.iter().map(AsRef::as_ref).collect::<BTreeSet<_>>().into_iter().collect()
}

fn options() -> AdminOptions {
    AdminOptions::new().request_timeout(Some(REQUEST_TIMEOUT)).operation_timeout(Some(REQUEST_TIMEOUT))
}

/// Returns the first refusal. The code `absent` is none.
fn check(
    results: KafkaResult<Vec<Result<String, (String, RDKafkaErrorCode)>>>,
    absent: RDKafkaErrorCode,
) -> KafkaResult<()> {
    let refusal = results?.into_iter().filter_map(Result::err).find(|(_, code)| *code != absent);
    refusal.map_or(Ok(()), |(_, code)| Err(KafkaError::AdminOp(code)))
}
