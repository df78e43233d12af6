//! The topics, read as a stranger would, and the places of the consumer groups.

use std::collections::BTreeMap;
use std::env;

use contracts::{Envelope, Stream, Topics};
use futures_util::future::{try_join, try_join_all};
use messaging::{Brokers, Received, admin};
use tokio::net::TcpStream;
use uuid::Uuid;

use crate::stack::Part;
use crate::trouble::Trouble;

/// Which consumer reads whose topic.
pub(crate) const READERS: [(Part, Stream); 4] = [
    (Part::Orders, Stream::Inventory),
    (Part::Orders, Stream::Payments),
    (Part::Inventory, Stream::Orders),
    (Part::Payments, Stream::Orders),
];

/// A message, with what its headers say.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) stream: Stream,
    pub(crate) envelope: Envelope,
    pub(crate) key: Option<Uuid>,
    pub(crate) payload: Vec<u8>,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
}

/// Where everybody stands: for each reader, topic and partition its place, and the end.
pub(crate) type Places = BTreeMap<(Part, Stream, i32), (i64, i64)>;

/// The brokers that the services use.
pub(crate) struct Kafka {
    brokers: Brokers,
    topics: Topics,
}

impl Kafka {
    pub(crate) fn from_environment() -> Result<Self, Trouble> {
        let brokers =
            env::var("IDEM_KAFKA_BROKERS").map_err(|_| Trouble::Environment("IDEM_KAFKA_BROKERS"))?;
        let prefix = env::var("IDEM_KAFKA__TOPIC_PREFIX").unwrap_or_default();
        Ok(Self { brokers: brokers.parse()?, topics: Topics::with_prefix(prefix) })
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
                let envelope = Envelope::from_headers(|name| received.header(name)).map_err(|error| {
                    let place = format!("{}/{}/{}", received.topic, received.partition, received.offset);
                    Trouble::Unreadable { request: place, reason: error.to_string() }
                })?;
                if envelope.tenant.as_str() == tenant {
                    said.push(Said::new(stream, envelope, received));
                }
            }
        }
        Ok(said)
    }

    async fn read(&self, stream: Stream) -> Result<Vec<Received>, Trouble> {
        Ok(admin::read_all(&self.brokers, &self.topics.events(stream)).await?)
    }
}

impl Said {
    fn new(stream: Stream, envelope: Envelope, received: Received) -> Self {
        let key = received.key.as_deref().and_then(|key| Uuid::try_parse_ascii(key).ok());
        let payload = received.payload.unwrap_or_default();
        Self { stream, envelope, key, payload, partition: received.partition, offset: received.offset }
    }
}
