//! Servers that fail for long: brokers that are away for minutes, and a full disk under PostgreSQL.

use std::time::Duration;

use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use e2e::{Customer, Load, Options, Part, Stack};
use testkit::{Broker, Postgres, eventually};
use tokio::time::Instant;

use crate::Watched;

/// The length of the outage: short here, and ten minutes by `IDEM_OUTAGE_SECONDS=600 ./dev alerts outages`.
fn outage() -> Duration {
    let seconds = std::env::var("IDEM_OUTAGE_SECONDS").map_or(20, |text| text.parse().unwrap());
    Duration::from_secs(seconds)
}

/// Waits until the load goes its usual way.
async fn orders_are_confirmed(stack: &Stack) {
    let confirmed = "SELECT count(*) FROM orders WHERE state = 'confirmed'";
    eventually("orders are confirmed", async || {
        (stack.count(Part::ORDERS, confirmed).await >= 3).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Prometheus: ./dev alerts"]
async fn with_the_brokers_away_for_long_under_load_alerts_fire_and_every_accepted_order_ends() {
    let mut broker = Broker::start().await;
    let options = Options { brokers: Some(broker.brokers()), ..Options::default() };
    let watched = Watched::start(options).await;
    let customer = Customer::stocked(&watched.stack, 1_000_000).await;
    let load = Load::start(&customer, &watched.stack.endpoints(&["orders"]), 2);
    orders_are_confirmed(&watched.stack).await;
    let begun = Instant::now();
    broker.kill().await;
    watched.prometheus.fires("DependencyAway of orders").await;
    // The outage is the fault, and has this length; nothing is waited for.
    tokio::time::sleep_until(begun + outage()).await;
    broker.start_again().await;
    watched.prometheus.is_quiet("DependencyAway of orders").await;
    let responses = load.stop().await;
    watched.stack.audited(&responses).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Prometheus: ./dev alerts"]
async fn a_full_disk_under_postgresql_fires_an_alert_and_everything_goes_on_once_there_is_room() {
    let Some((mut server, disk)) = Postgres::with_small_disk().await else { return };
    let options = Options { postgres: Some(server.url()), ..Options::default() };
    let watched = Watched::start(options).await;
    let customer = Customer::stocked(&watched.stack, 1_000_000).await;
    let load = Load::start(&customer, &watched.stack.endpoints(&["orders"]), 2);
    orders_are_confirmed(&watched.stack).await;
    disk.fill();
    // PostgreSQL uses up the files that it has reserved. Then commands fail, and the server ends, because its log has no room.
    let mut superuser = AsyncPgConnection::establish(&server.url()).await.unwrap();
    let write = "SELECT pg_logical_emit_message(false, 'test', repeat('x', 1000000))";
    while superuser.batch_execute(write).await.is_ok() {}
    watched.prometheus.fires_one_of(&["ErrorBudgetBurnsFast of orders", "DependencyAway of orders"]).await;
    disk.free();
    server.recovers().await;
    watched.prometheus.is_quiet("ErrorBudgetBurnsFast of orders").await;
    watched.prometheus.is_quiet("DependencyAway of orders").await;
    let responses = load.stop().await;
    watched.stack.audited(&responses).await;
    // The server before its disk, and both after the programs that use them.
    drop((watched, server, disk));
}
