//! The topics of an installation, and the positions of its consumer groups.

use std::collections::BTreeMap;
use std::time::Duration;

use audits::{Database, TopicMessage, readers};
use envelope::{Stream, Topics};
use futures_util::future::{try_join, try_join_all};
use messaging::{Brokers, ReceivedMessage, admin};
use tokio::net::TcpStream;

use crate::{Error, Part, Result, until};

/// The name of the deployment that `./dev` and docker-compose.yml run.
pub const DEPLOYMENT: &str = "idem-dev";

/// The name of the deployment that `./dev` runs, also if a setting names another.
pub fn deployment() -> String {
    std::env::var("IDEM_DEPLOYMENT__NAME").unwrap_or_else(|_| DEPLOYMENT.to_owned())
}

/// The variables by which a service gets these brokers, with the properties of this process if `IDEM_KAFKA_BROKERS` names them.
pub fn kafka_variables(brokers: &Brokers) -> Vec<(String, String)> {
    let is_shared = std::env::var("IDEM_KAFKA_BROKERS").is_ok_and(|shared| shared == brokers.bootstrap());
    let properties =
        std::env::vars().filter(|(name, _)| is_shared && name.starts_with("IDEM_KAFKA__PROPERTIES__"));
    [("IDEM_KAFKA__BROKERS".to_owned(), brokers.to_string())].into_iter().chain(properties).collect()
}

/// For each consumer, topic and partition: the next offset to be read, and the end.
pub type Positions = BTreeMap<(Database, Stream, i32), (i64, i64)>;

/// How long a broker that has just started may refuse to answer.
const LIMIT: Duration = Duration::from_secs(20);

/// The brokers, and the names of the topics on them.
#[derive(Debug, Clone)]
pub struct Kafka {
    /// The brokers of the services.
    pub brokers: Brokers,
    /// The names.
    pub topics: Topics,
}

impl Kafka {
    /// Returns whether a broker accepts a connection.
    pub async fn listens(&self) -> bool {
        for address in self.brokers.bootstrap().split(',') {
            if TcpStream::connect(address.trim()).await.is_ok() {
                return true;
            }
        }
        false
    }

    /// The position of every consumer. Without a committed offset, a consumer begins at 0.
    pub async fn positions(&self) -> Result<Positions> {
        let looks = readers().map(async |(reader, stream)| {
            let (group, topic) = (self.topics.group(reader.name()), self.topics.events(stream));
            let committed = admin::committed_offsets(&self.brokers, &group, &topic);
            let (committed, ends) = try_join(committed, admin::end_offsets(&self.brokers, &topic)).await?;
            let position = |(partition, end)| {
                let next = committed.get(&partition).copied().flatten().unwrap_or(0);
                ((reader, stream, partition), (next, end))
            };
            Ok::<Vec<_>, Error>(ends.into_iter().map(position).collect())
        });
        Ok(try_join_all(looks).await?.into_iter().flatten().collect())
    }

    /// Returns how many messages all consumers together have still to read.
    pub fn lag(positions: &Positions) -> i64 {
        positions.values().map(|(next, end)| end - next).sum()
    }

    /// Sets every consumer group back to offset 0. The consumers must not run.
    pub async fn rewind(&self) -> Result<()> {
        for (reader, stream) in readers() {
            let (group, topic) = (self.topics.group(reader.name()), self.topics.events(stream));
            let partitions = admin::end_offsets(&self.brokers, &topic).await?.into_keys();
            let first = partitions.map(|partition| ((topic.clone(), partition), 0)).collect();
            admin::set_group_offsets(&self.brokers, &group, &first).await?;
        }
        Ok(())
    }

    /// Returns how many messages a topic holds. Nothing here is compacted or transactional, so offsets count messages.
    pub async fn count(&self, stream: Stream) -> Result<usize> {
        let ends = admin::end_offsets(&self.brokers, &self.topics.events(stream)).await?;
        Ok(usize::try_from(ends.values().sum::<i64>()).unwrap_or_default())
    }

    /// The messages of each topic.
    pub async fn counts(&self) -> Result<BTreeMap<Stream, usize>> {
        let mut counts = BTreeMap::new();
        for stream in Part::SERVICES.map(Part::stream) {
            counts.insert(stream, self.count(stream).await?);
        }
        Ok(counts)
    }

    /// All messages of one tenant, by topic, partition and offset.
    pub async fn messages(&self, tenant: &str) -> Result<Vec<TopicMessage>> {
        let mut messages = Vec::new();
        for stream in Part::SERVICES.map(Part::stream) {
            for received in self.read(&self.topics.events(stream)).await? {
                let message = TopicMessage::read(stream, received)
                    .map_err(|reason| Error::unreadable("a message", reason))?;
                if message.envelope.tenant.as_str() == tenant {
                    messages.push(message);
                }
            }
        }
        Ok(messages)
    }

    /// Everything on a topic. A partition has no leader for a moment after a broker has started.
    pub async fn read(&self, topic: &str) -> Result<Vec<ReceivedMessage>> {
        until(format!("{topic} can be read"), LIMIT, "./dev status", async || {
            Ok(Ok(admin::read_all(&self.brokers, topic).await?))
        })
        .await
    }
}
