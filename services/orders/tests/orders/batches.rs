//! Counts the round trips of a batch of messages.

use contracts::events::StockReserved;
use database::{Database, Settings};
use testkit::{RoundTrips, eventually};
use tokio::runtime::Handle;
use uuid::Uuid;

use crate::bench::Bench;
use crate::peers::Peers;

/// Each has a message. They are in six batches, because a topic has six partitions.
const ORDERS: usize = 300;

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_of_messages_takes_fewer_round_trips_than_it_has_messages() {
    let counter = RoundTrips::to_postgres().await;
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let mut peers = Peers::without_consumer().await;
    for _ in 0..ORDERS {
        let order = bench.placed("acme").await["id"].as_str().unwrap().parse::<Uuid>().unwrap().into();
        peers.publish(&StockReserved { order }).await;
    }
    let settings = Settings::new(bench.database.service_url(Some(counter.address())));
    let distant = Database::new(&settings, Handle::current()).unwrap();
    let consumed = async {
        peers.consume(distant);
        eventually("every order has its message", async || {
            let open = bench.count("SELECT count(*) FROM orders WHERE state = 'pending'").await;
            (open == 0).then_some(())
        })
        .await;
    };
    let ((), round_trips) = counter.of(consumed).await;
    peers.stop().await;
    assert!(round_trips < ORDERS, "{round_trips}");
}
