//! A transaction that is held open, a pool that is used up, and a job that fails.

use std::time::Duration;

use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use e2e::{Customer, Options, Part};
use testkit::Postgres;
use tokio::task::JoinSet;

use crate::Watched;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Prometheus: ./dev alerts"]
async fn a_transaction_that_is_held_open_and_a_failing_job_fire_their_alerts_and_orders_go_on() {
    let Some((server, mut clock)) = Postgres::with_clock().await else { return };
    let mut watched = Watched::start(Options { postgres: Some(server.url()), ..Options::default() }).await;
    let customer = Customer::stocked(&watched.stack, 10).await;
    customer.buys(1).await;

    let url = watched.stack.database(Part::ORDERS).service_url(None);
    let mut person = AsyncPgConnection::establish(&url).await.unwrap();
    person.batch_execute("BEGIN; SELECT * FROM orders FOR SHARE").await.unwrap();
    clock.advance(Duration::from_mins(2));
    watched.prometheus.fires("OldTransaction of orders").await;
    customer.buys(1).await;
    watched.end_transactions(Part::ORDERS, "orders", "RowShareLock").await;
    watched.prometheus.is_quiet("OldTransaction of orders").await;

    let job = "outbox_make_partitions(integer)";
    watched.meddle(Part::ORDERS, &format!("REVOKE EXECUTE ON FUNCTION {job} FROM idem_service")).await;
    clock.advance(Duration::from_hours(2));
    // A job that is due runs at the start.
    watched.restart("orders", &[]).await;
    watched.prometheus.fires("JobLate of orders").await;
    customer.buys(1).await;
    watched.meddle(Part::ORDERS, &format!("GRANT EXECUTE ON FUNCTION {job} TO idem_service")).await;
    clock.advance(Duration::from_mins(2));
    watched.restart("orders", &[]).await;
    watched.prometheus.is_quiet("JobLate of orders").await;
    watched.stack.at_rest().await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Prometheus: ./dev alerts"]
async fn a_database_that_grows_fires_its_alert_until_the_table_that_grows_is_gone() {
    let watched = Watched::start(Options::default()).await;
    watched.prometheus.is_quiet("DatabaseGrows of orders").await;
    watched
        .meddle(Part::ORDERS, "CREATE TABLE copy AS SELECT repeat('x', 1000) FROM generate_series(1, 20000)")
        .await;
    watched.prometheus.fires("DatabaseGrows of orders").await;
    watched.meddle(Part::ORDERS, "DROP TABLE copy").await;
    watched.prometheus.is_quiet("DatabaseGrows of orders").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Prometheus: ./dev alerts"]
async fn a_pool_that_is_used_up_fires_its_alert_until_the_transaction_behind_it_is_ended() {
    let mut watched = Watched::start(Options::default()).await;
    watched.restart("orders", &[("IDEM_DATABASE__POOL_SIZE", "1")]).await;
    let customer = Customer::stocked(&watched.stack, 10).await;
    customer.buys(1).await;
    let mut report = watched.stack.database(Part::ORDERS).owner().await;
    report.batch_execute("BEGIN; LOCK TABLE orders IN ACCESS EXCLUSIVE MODE").await.unwrap();

    let mut clients = JoinSet::new();
    for _ in 0..8 {
        let (token, address) = (customer.token().to_owned(), watched.stack.address("orders"));
        clients.spawn(async move {
            let client = testkit::http::client();
            loop {
                let _ = client.get(format!("http://{address}/v1/orders")).bearer_auth(&token).send().await;
            }
        });
    }
    watched.prometheus.fires("PoolExhausted of orders").await;
    watched.end_transactions(Part::ORDERS, "orders", "AccessExclusiveLock").await;
    drop(clients);
    watched.prometheus.is_quiet("PoolExhausted of orders").await;
    customer.buys(1).await;
}
