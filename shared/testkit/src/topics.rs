//! Topics for one test, on the shared broker.

use std::ops::Deref;
use std::time::Duration;

use contracts::streams;
use envelope::{Stream, Topics};
use messaging::topics::{TopicSpec, ensure};
use messaging::{Brokers, ReceivedMessage, admin};
use uuid::Uuid;

use crate::shared_broker::clear_shared_broker;
use crate::{eventually, given};

/// The topics of a deployment with a unique name. When the test ends, all its topics and consumer groups on the shared broker
/// are deleted. Stop the consumers before. Derefs to the names, [`Topics`].
pub struct TestTopics {
    brokers: Brokers,
    topics: Topics,
    /// True if the topics are on the shared broker, which outlives the test.
    are_shared: bool,
}

impl TestTopics {
    /// With the events topics of all services.
    pub async fn create() -> Self {
        let topics = Self::names();
        topics.make(&streams::ALL).await;
        topics
    }

    /// The names only: no topic exists yet.
    pub fn names() -> Self {
        Self::named(Brokers::from_environment(&given("IDEM_KAFKA_BROKERS")).unwrap(), true)
    }

    /// The same on a [`Broker`](crate::Broker) of the test, which is removed with all its topics.
    pub fn names_on(brokers: Brokers) -> Self {
        Self::named(brokers, false)
    }

    fn named(brokers: Brokers, are_shared: bool) -> Self {
        Self { brokers, topics: Topics::of(format!("test-{}", Uuid::new_v4().simple())), are_shared }
    }

    /// Makes the events topics of these services.
    pub async fn make(&self, streams: &[Stream]) {
        make_topics(&self.brokers, &self.topics, streams).await;
    }

    /// The broker of the topics.
    pub fn brokers(&self) -> Brokers {
        self.brokers.clone()
    }

    /// The number of messages that a service has published.
    pub async fn count(&self, stream: Stream) -> usize {
        count(&self.brokers, &self.events(stream)).await
    }

    /// All messages that a service has published, by partition and offset.
    pub async fn messages(&self, stream: Stream) -> Vec<ReceivedMessage> {
        messages(&self.brokers, &self.events(stream)).await
    }

    /// Waits until the consumer group has committed the end offset of every partition of these services.
    pub async fn wait_until_consumed(&self, consumer: &str, streams: &[Stream]) {
        let group = self.group(consumer);
        for topic in streams.iter().map(|stream| self.events(*stream)) {
            eventually(&format!("{group} has committed all of {topic}"), async || {
                let ends = retry(async || admin::end_offsets(&self.brokers, &topic).await).await;
                let done =
                    retry(async || admin::committed_offsets(&self.brokers, &group, &topic).await).await;
                ends.iter().all(|(partition, end)| done[partition].unwrap_or(0) == *end).then_some(())
            })
            .await;
        }
    }
}

impl Deref for TestTopics {
    type Target = Topics;
    fn deref(&self) -> &Topics {
        &self.topics
    }
}

/// Makes events topics, with as many partitions as in production.
pub(crate) async fn make_topics(brokers: &Brokers, topics: &Topics, streams: &[Stream]) {
    let specs: Vec<TopicSpec> =
        streams.iter().map(|stream| TopicSpec::new(topics.events(*stream), Topics::PARTITIONS)).collect();
    ensure(brokers, &specs).await.unwrap();
}

/// The number of messages of a topic, from its offsets. The topics are neither transactional nor compacted.
pub(crate) async fn count(brokers: &Brokers, topic: &str) -> usize {
    let ends = retry(async || admin::end_offsets(brokers, topic).await).await;
    usize::try_from(ends.values().sum::<i64>()).unwrap()
}

pub(crate) async fn messages(brokers: &Brokers, topic: &str) -> Vec<ReceivedMessage> {
    retry(async || admin::read_all(brokers, topic).await).await
}

/// Repeats a request while a partition has no leader. A broker is named as the leader a moment before it accepts requests.
pub(crate) async fn retry<T>(mut ask: impl AsyncFnMut() -> Result<T, messaging::Error>) -> T {
    let mut refusal = None;
    for _ in 0..200 {
        match ask().await {
            Err(error @ messaging::Error::Refused { .. }) => refusal = Some(error),
            result => return result.unwrap(),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("Kafka refuses the request: {}", refusal.expect("at least one request"));
}

impl Drop for TestTopics {
    fn drop(&mut self) {
        if self.are_shared {
            clear_shared_broker(&self.topics.prefixed(""));
        }
    }
}
