//! The topics, read as a stranger would, and the places of the consumer groups.

use std::collections::BTreeMap;

use audits::{Database, READERS, Said};
use contracts::{Stream, Topics};
use futures_util::future::{try_join, try_join_all};
use messaging::{Brokers, Received, admin};
use tokio::net::TcpStream;

use crate::surroundings::Surroundings;
use crate::trouble::Trouble;

/// Where everybody stands: for each reader, topic and partition its place, and the end.
pub(crate) type Places = BTreeMap<(Database, Stream, i32), (i64, i64)>;

/// The brokers that the services use.
pub(crate) struct Kafka {
    brokers: Brokers,
    topics: Topics,
}

impl Kafka {
    pub(crate) fn of(around: &dyn Surroundings) -> Result<Self, Trouble> {
        let topics = Topics::with_prefix(around.topic_prefix());
        Ok(Self { brokers: around.brokers().parse()?, topics })
    }

    /// Whether a broker accepts a connection.
    pub(crate) async fn listens(&self) -> bool {
        for address in self.brokers.bootstrap().split(',') {
            if TcpStream::connect(address.trim()).await.is_ok() {
                return true;
            }
        }
        false
    }

    /// Where every consumer stands. One that has committed nothing stands at the beginning.
    pub(crate) async fn places(&self) -> Result<Places, Trouble> {
        let looks = READERS.map(async |(reader, stream)| {
            let (group, topic) = (self.topics.group(reader.name()), self.topics.events(stream));
            let committed = admin::committed_offsets(&self.brokers, &group, &topic);
            let (committed, ends) = try_join(committed, admin::end_offsets(&self.brokers, &topic)).await?;
            let place = |(partition, end)| {
                let place = committed.get(&partition).copied().flatten().unwrap_or(0);
                ((reader, stream, partition), (place, end))
            };
            Ok::<Vec<_>, Trouble>(ends.into_iter().map(place).collect())
        });
        Ok(try_join_all(looks).await?.into_iter().flatten().collect())
    }

    /// Makes every consumer begin at offset 0 again. They must not run.
    pub(crate) async fn rewind(&self) -> Result<(), Trouble> {
        for (reader, stream) in READERS {
            let (group, topic) = (self.topics.group(reader.name()), self.topics.events(stream));
            admin::rewind_group(&self.brokers, &group, &[&topic]).await?;
        }
        Ok(())
    }

    /// How many messages each topic holds.
    pub(crate) async fn counts(&self) -> Result<BTreeMap<Stream, usize>, Trouble> {
        let mut counts = BTreeMap::new();
        for stream in Stream::ALL {
            counts.insert(stream, self.read(stream).await?.len());
        }
        Ok(counts)
    }

    /// Everything that was said about a tenant's things, by topic, partition and offset.
    pub(crate) async fn said(&self, tenant: &str) -> Result<Vec<Said>, Trouble> {
        let mut said = Vec::new();
        for stream in Stream::ALL {
            for received in self.read(stream).await? {
                let message = Said::read(stream, received)
                    .map_err(|reason| Trouble::Unreadable { request: "messages".to_owned(), reason })?;
                if message.envelope.tenant.as_str() == tenant {
                    said.push(message);
                }
            }
        }
        Ok(said)
    }

    async fn read(&self, stream: Stream) -> Result<Vec<Received>, Trouble> {
        Ok(admin::read_all(&self.brokers, &self.topics.events(stream)).await?)
    }
}
