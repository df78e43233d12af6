//! From the insert of an event to its record on the topic, at low load: the relay and Debezium publish the same rows.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use harness::{Context, Error, Part, Result};
use rdkafka::consumer::BaseConsumer;
use rdkafka::message::Message;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::debezium::Worker;
use super::{LIMIT, Slot};
use crate::environment::{Environment, Session, TestBed};
use crate::load::{Load, as_f64, open_loop};
use crate::subjects::bare_consumer::bare_consumer;
use crate::subjects::orders::{Client, Placer, stock_catalogue};
use crate::workload::Workload;

/// Orders that are placed in a second.
pub(super) const PER_SECOND: u32 = 20;

/// The times from the event's `created_at`, which is a moment before its commit, to its arrival at a consumer.
pub(super) struct Latencies {
    pub(super) relay: Load,
    pub(super) debezium: Load,
}

/// When the record of each order arrived, in seconds since 1970.
type Arrivals = HashMap<Uuid, f64>;

/// Places orders at orders, whose own relay publishes them, while Debezium reads the same table.
pub(super) async fn measure(
    environment: &Environment,
    worker: &mut Worker,
    database: &TestBed,
    superuser: &Session,
    workload: &Workload,
) -> Result<Latencies> {
    eprintln!("peers: {PER_SECOND} events a second");
    let owner = database.owner().await?;
    let (own, peers) = (environment.topics("own"), environment.topics("peer"));
    let slot = Slot::create(superuser, database).await?;
    let (own_topic, peer_topic) =
        (environment.make_topic(&own).await?, environment.make_topic(&peers).await?);
    worker.connect(&slot.0, database, &peers).await?;
    let mut service =
        environment.start(Part::Orders.instance(1), &environment.service_settings(database, &own))?;
    service.ready().await?;
    stock_catalogue(&owner).await?;
    let address = service.address().await?;
    let mut placers = Vec::new();
    for _ in 0..4 {
        let client = Client::open(environment, Part::Orders.instance(1), &address).await?;
        placers.push(Placer { client, keys: Vec::new() });
    }
    let (load, placers) = open_loop(placers, PER_SECOND, Duration::from_secs(1)).await?;

    let mut readers = JoinSet::new();
    let events = f64::from(PER_SECOND) * (2 * workload.length).as_secs_f64();
    for (number, topic) in [own_topic, peer_topic].into_iter().enumerate() {
        let consumer = bare_consumer(environment, &topic)?;
        // Both publish by now, and the consumer waits for more.
        tokio::task::block_in_place(|| arrivals(&consumer, load.count))?;
        readers.spawn_blocking(move || Ok::<_, Error>((number, arrivals(&consumer, events)?)));
    }
    let since: f64 = owner.one("SELECT extract(epoch FROM clock_timestamp())::float8").await?.get(0);
    open_loop(placers, PER_SECOND, 2 * workload.length).await?;
    let created = "SELECT partition_key, extract(epoch FROM created_at)::float8 FROM outbox_event \
                   WHERE extract(epoch FROM created_at)::float8 >= $1";
    let created = owner.query(created, &[&since]).await.context("read when events were inserted")?;
    let created: Vec<(Uuid, f64)> = created.iter().map(|row| (row.get(0), row.get(1))).collect();
    let mut loads = [None, None];
    while let Some(read) = readers.join_next().await {
        let (number, arrivals) = read.context("read a topic")??;
        let took = created
            .iter()
            .filter_map(|(order, at)| Duration::try_from_secs_f64(arrivals.get(order)? - at).ok());
        let took: Vec<Duration> = took.collect();
        if let Some(load) = loads.get_mut(number).filter(|_| took.len() == created.len()) {
            *load = Some(Load::of(took, 2 * workload.length));
        }
    }
    worker.disconnect(&slot.0).await?;
    slot.remove(superuser).await?;
    service.stop().await?;
    let [Some(relay), Some(debezium)] = loads else {
        return Err(Error::Refused("an event did not arrive at its topic".to_owned()));
    };
    Ok(Latencies { relay, debezium })
}

/// Reads so many records. The thread blocks.
fn arrivals(consumer: &BaseConsumer, records: f64) -> Result<Arrivals> {
    let mut arrivals = Arrivals::new();
    while as_f64(arrivals.len()) + 0.5 < records {
        let Some(record) = consumer.poll(LIMIT) else { break };
        let record = record.context("consume")?;
        #[expect(
            clippy::disallowed_methods,
            reason = "server and load generator share the machine and its clock"
        )]
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).context("read the clock")?;
        let order =
            std::str::from_utf8(record.key().unwrap_or_default()).ok().and_then(|key| key.parse().ok());
        arrivals.insert(order.unwrap_or_default(), now.as_secs_f64());
    }
    Ok(arrivals)
}
