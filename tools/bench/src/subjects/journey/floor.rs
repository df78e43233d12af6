//! The floor of POST to confirmed: commits, hops and the charge of the longest path, bare, one after the other.

use std::sync::Arc;
use std::time::{Duration, Instant};

use contracts::OrderId;
use envelope::TenantId;
use harness::{Context, Error, Part, Result};
use rdkafka::consumer::BaseConsumer;
use rdkafka::producer::BaseProducer;
use uuid::Uuid;

use super::charge::Charger;
use crate::environment::TENANT;
use crate::load::Worker;
use crate::subjects::bare_consumer::bare_consumer;
use crate::subjects::bare_producer::{OutgoingRecord, Reports, producer};
use crate::subjects::place::bare_statement::{BarePlacer, SampleOrder};
use crate::subjects::stack::{LIMIT, Stack};

/// One step of the path.
#[derive(Clone, Copy)]
enum Step {
    /// A durable commit: the bare statement of `place`, which writes six rows.
    Commit,
    /// A record on its way from a producer to a consumer that waits for it.
    Hop,
    /// The charge at the processor, on an open connection.
    Charge,
}

/// The longest path of an order from its POST to its confirmation. Each step needs the one before it.
const PATH: [Step; 12] = [
    Step::Commit, // the order with its response
    Step::Hop,    // OrderPlaced
    Step::Commit, // the reservation
    Step::Hop,    // StockReserved
    Step::Commit, // the order awaits its payment
    Step::Hop,    // PaymentRequested
    Step::Commit, // the payment and its call
    Step::Commit, // the attempt
    Step::Charge,
    Step::Commit, // the capture
    Step::Hop,    // PaymentCaptured
    Step::Commit, // the confirmation
];

/// A connection of each kind, opened and used before.
pub(super) struct Floor {
    placer: BarePlacer,
    sample: Arc<SampleOrder>,
    producer: BaseProducer<Reports>,
    consumer: BaseConsumer,
    topic: String,
    charger: Charger,
}

impl Floor {
    /// Makes a database and a topic of its own. The stack has an order.
    pub(super) async fn prepare(stack: &Stack<'_>) -> Result<Self> {
        let environment = stack.environment;
        let sample = SampleOrder::of(&stack.database(Part::ORDERS)?.owner().await?).await?;
        let sample = Arc::new(sample);
        let (database, topics) = (environment.postgres.database("floor").await?, environment.topics("floor"));
        environment.migrate(Part::ORDERS, &database, &topics).await?;
        database.owner().await?.run("SELECT outbox_make_partitions(1)").await?;
        let topic = environment.make_topic(&topics).await?;
        let mut floor = Self {
            placer: BarePlacer::open(&database, &sample).await?,
            sample,
            producer: producer(environment)?,
            consumer: bare_consumer(environment, &topic)?,
            topic,
            charger: Charger::open(stack).await?,
        };
        for _ in 0..10 {
            floor.walk().await?;
        }
        Ok(floor)
    }

    /// Opens the connection to the stand-in again, because the stand-in closes an idle one.
    pub(super) async fn reconnect(&mut self, stack: &Stack<'_>) -> Result<()> {
        self.charger = Charger::open(stack).await?;
        Ok(())
    }

    /// Goes the path once.
    pub(super) async fn walk(&mut self) -> Result<Duration> {
        let mut took = Duration::ZERO;
        for step in PATH {
            took += match step {
                Step::Commit => self.commit().await?,
                Step::Hop => tokio::task::block_in_place(|| self.hop())?,
                Step::Charge => self.charger.charge().await?,
            };
        }
        Ok(took)
    }

    async fn commit(&mut self) -> Result<Duration> {
        let start = Instant::now();
        self.placer.once().await?;
        Ok(start.elapsed())
    }

    fn hop(&self) -> Result<Duration> {
        let tenant: TenantId = TENANT.parse().context("name the tenant")?;
        let (order, payload) = (OrderId::generate().uuid(), self.sample.payload.clone());
        let (kind, time) = ("orders.OrderPlaced.v1", "2026-01-01T00:00:00.000000Z");
        let record = OutgoingRecord::about(order, Uuid::now_v7(), kind, payload, &tenant, time);
        let start = Instant::now();
        self.producer.send(record.to(&self.topic)).map_err(|(error, _)| error).context("publish")?;
        let received = self.consumer.poll(LIMIT);
        let took = start.elapsed();
        self.producer.poll(Duration::ZERO); // the delivery report, which no consumer waits for
        received
            .ok_or_else(|| Error::Refused("a record of the floor did not arrive".to_owned()))?
            .context("consume")?;
        Ok(took)
    }
}
