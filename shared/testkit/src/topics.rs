//! Topics for one test, on the broker that all tests share.

use std::ops::Deref;
use std::time::Duration;

use contracts::{Stream, Topics};
use messaging::topics::{TopicSpec, ensure};
use messaging::{Brokers, Received, admin};
use uuid::Uuid;

use crate::{eventually, given};

/// The names of one installation, under a prefix that nobody else has. When the test ends, its topics are deleted,
/// and with them the groups of the services' consumers: stop those first. Derefs to the names, [`Topics`].
pub struct TestTopics {
    brokers: Brokers,
    topics: Topics,
}

impl TestTopics {
    /// With the events topics of all services.
    pub async fn create() -> Self {
        let topics = Self::names();
        topics.make(&Stream::ALL).await;
        topics
    }

    /// The names alone: no topic exists yet.
    pub fn names() -> Self {
        Self::names_on(given("IDEM_KAFKA_BROKERS").parse().unwrap())
    }

    /// The same on another broker, which is to outlive the topics.
    pub fn names_on(brokers: Brokers) -> Self {
        Self { brokers, topics: Topics::with_prefix(format!("test-{}.", Uuid::new_v4().simple())) }
    }

    /// Makes the events topics of these services.
    pub async fn make(&self, streams: &[Stream]) {
        make_topics(&self.brokers, &self.topics, streams).await;
    }

    /// The broker they are on.
    pub fn brokers(&self) -> Brokers {
        self.brokers.clone()
    }

    /// How many messages a service has published.
    pub async fn count(&self, stream: Stream) -> usize {
        count(&self.brokers, &self.events(stream)).await
    }

    /// All that a service has published; by partition, then offset.
    pub async fn messages(&self, stream: Stream) -> Vec<Received> {
        messages(&self.brokers, &self.events(stream)).await
    }

    /// Waits until a consumer's group has committed that it has dealt with every message of these services.
    pub async fn wait_until_consumed(&self, consumer: &str, streams: &[Stream]) {
        let group = self.group(consumer);
        for topic in streams.iter().map(|stream| self.events(*stream)) {
            eventually(&format!("{group} has dealt with all of {topic}"), async || {
                let ends = answer(async || admin::end_offsets(&self.brokers, &topic).await).await;
                let done =
                    answer(async || admin::committed_offsets(&self.brokers, &group, &topic).await).await;
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

/// The messages of a topic, counted by its offsets: nothing here is transactional or compacted.
pub(crate) async fn count(brokers: &Brokers, topic: &str) -> usize {
    let ends = answer(async || admin::end_offsets(brokers, topic).await).await;
    usize::try_from(ends.values().sum::<i64>()).unwrap()
}

pub(crate) async fn messages(brokers: &Brokers, topic: &str) -> Vec<Received> {
    answer(async || admin::read_all(brokers, topic).await).await
}

/// Asks again where a partition has no leader: a broker is named as such a moment before it knows that it is.
async fn answer<T>(mut ask: impl AsyncFnMut() -> Result<T, messaging::Error>) -> T {
    let mut refusal = None;
    for _ in 0..200 {
        match ask().await {
            Err(error @ messaging::Error::Refused { .. }) => refusal = Some(error),
            answer => return answer.unwrap(),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("Kafka refuses to answer: {}", refusal.expect("it was asked"));
}

impl Drop for TestTopics {
    fn drop(&mut self) {
        let brokers = self.brokers.clone();
        let names = |stream: Stream| [self.topics.events(stream), self.topics.dead_letters(stream.name())];
        let topics: Vec<String> = Stream::ALL.into_iter().flat_map(names).collect();
        let groups = Stream::ALL.map(|stream| self.topics.group(stream.name()));
        // A thread of its own: drop may run on a runtime that is already stopping.
        let deleted = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let topics: Vec<&str> = topics.iter().map(String::as_str).collect();
                let topics = admin::delete_topics(&brokers, &topics);
                let (topics, ()) = tokio::join!(topics, delete_groups(&brokers, &groups));
                topics.unwrap();
            });
        });
        let deleted = deleted.join();
        assert!(
            std::thread::panicking() || deleted.is_ok(),
            "the topics {} were left",
            self.topics.prefixed("*")
        );
    }
}

/// Members that were dropped leave in the background, so the first answer may be that there still are some.
async fn delete_groups(brokers: &Brokers, groups: &[String]) {
    let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
    for _ in 0..200 {
        match admin::delete_groups(brokers, &groups).await {
            Err(messaging::Error::GroupActive { .. }) => tokio::time::sleep(Duration::from_millis(50)).await,
            deleted => return deleted.unwrap(),
        }
    }
    panic!("one of the groups {groups:?} still has members: stop its consumers before the test ends");
}
