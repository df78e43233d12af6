//! The rights of deploy/production/kafka.sh, on a broker with an authorizer: each service can do its own work, and no other one's.

use std::collections::BTreeSet;
use std::time::Duration;

use envelope::Topics;
use futures_util::future::join_all;
use messaging::{Brokers, NotAcknowledged, Publisher, Record, Subscription, SubscriptionSettings, admin};
use services::{ALL, Service};
use testkit::GuardedBroker;
use tokio::time::timeout;

/// Longer than a message needs to arrive.
const LIMIT: Duration = Duration::from_mins(1);

/// A service, and the broker as its user sees it.
struct User {
    service: &'static Service,
    topics: Topics,
    brokers: Brokers,
}

impl User {
    fn events(&self, service: &str) -> String {
        self.topics.prefixed(&format!("{service}.events"))
    }

    fn group(&self) -> String {
        self.topics.group(self.service.name)
    }

    fn reads(&self) -> Vec<String> {
        self.service.reads.iter().map(|read| self.events(read)).collect()
    }

    async fn publish(&self, topic: &str) -> Result<(), NotAcknowledged> {
        let (publisher, mut reports) = Publisher::connect(&self.brokers).unwrap();
        publisher.publish(Record { topic, key: b"k", payload: b"p", headers: &[] }, 1).unwrap();
        reports.next().await.unwrap().result.map(drop)
    }

    async fn writes_its_own_topics_alone(&self) {
        for Service { name, .. } in &ALL {
            for topic in [self.events(name), self.topics.dead_letters(name)] {
                let published = self.publish(&topic).await;
                if *name == self.service.name {
                    published.unwrap();
                } else {
                    let refusal = published.expect_err(&topic).to_string();
                    assert!(refusal.contains("TopicAuthorizationFailed"), "{topic}: {refusal}");
                }
            }
        }
    }

    /// As a member of its group, which then commits. A commit needs the right to read the topic, too.
    async fn reads_what_it_consumes_alone(&self) {
        let settings = SubscriptionSettings::new(self.group(), self.reads());
        let mut subscription = Subscription::start(&self.brokers, settings).unwrap();
        let (mut found, expected) = (BTreeSet::new(), BTreeSet::from_iter(self.reads()));
        while found != expected {
            let batch = timeout(LIMIT, subscription.next()).await.expect("a message of each topic").unwrap();
            found.extend(batch.messages().iter().map(|message| message.topic.to_string()));
            batch.done();
        }
        subscription.shutdown().await;
        for Service { name, .. } in &ALL {
            let start = [((self.events(name), 0), 0)].into();
            let committed = admin::set_group_offsets(&self.brokers, &self.group(), &start).await;
            assert_eq!(committed.is_ok(), self.service.reads.contains(name), "{name}: {committed:?}");
        }
    }

    /// For `doctor`.
    async fn sees_the_properties_of_its_topics(&self) {
        let name = self.service.name;
        let topics = [vec![self.events(name), self.topics.dead_letters(name)], self.reads()].concat();
        let found = admin::topic_properties(&self.brokers, &topics, &["cleanup.policy"]).await.unwrap();
        assert_eq!(found.len(), topics.len(), "{found:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_may_write_its_own_topics_read_what_it_consumes_and_use_no_other_group() {
    let (broker, topics) = (GuardedBroker::start().await, Topics::of("shop"));
    broker.prepare_for(topics.deployment()).await;
    let users = ALL.iter().map(|service| {
        let brokers = broker.as_user(service.name);
        User { service, topics: topics.clone(), brokers }
    });
    let users: Vec<User> = users.collect();
    join_all(users.iter().map(User::writes_its_own_topics_alone)).await;
    let readers: Vec<&User> = users.iter().filter(|user| !user.service.reads.is_empty()).collect();
    join_all(readers.iter().map(|user| user.reads_what_it_consumes_alone())).await;
    for user in readers {
        user.sees_the_properties_of_its_topics().await;
        // Kafka shows a user the groups that it may describe, and each one that it may read is among them.
        assert_eq!(admin::groups(&user.brokers).await.unwrap(), [user.group()]);
    }
}
