//! Clients that disconnect: their command is executed once.

use std::time::Duration;

use diesel_async::SimpleAsyncConnection;
use testkit::eventually;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::bench::{Bench, KEY, Table, noted, order};

/// Sends a complete command, and does not read the response.
async fn sent(bench: &Bench, body: &str) -> TcpStream {
    let mut socket = TcpStream::connect(bench.address).await.unwrap();
    let length = format!("Content-Length: {}", body.len());
    let head = bench
        .head("/v1/orders", &["Content-Type: application/json", &length, &format!("Idempotency-Key: {KEY}")]);
    socket.write_all(format!("{head}\r\n{body}").as_bytes()).await.unwrap();
    socket
}

/// Ends the connection with a reset, as a crashed client's kernel does.
fn reset(socket: TcpStream) {
    socket.set_zero_linger().unwrap();
    drop(socket);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_whose_client_resets_the_connection_is_carried_out() {
    let bench = Bench::start().await;
    let mut owner = bench.database.owner().await;
    owner.batch_execute("SELECT pg_advisory_lock(1)").await.unwrap();
    let socket = sent(&bench, &noted("wait")).await;
    bench.in_flight().await;
    reset(socket);
    // The command continues in its transaction without its client.
    for _ in 0..3 {
        bench.place(KEY, noted("wait")).await.refuses(409, "idempotency-key-in-progress");
        bench.in_flight().await;
    }
    owner.batch_execute("SELECT pg_advisory_unlock(1)").await.unwrap();
    eventually("the order is placed", async || (bench.count(Table::Orders).await == 1).then_some(())).await;
    let retry = eventually("the response is there", async || {
        Some(bench.place(KEY, noted("wait")).await).filter(|response| response.status != 409)
    })
    .await;
    assert!(retry.is_replay());
    assert_eq!((retry.status, &retry.json()["sku"]), (201, &"TEA".into()));
    bench.assert_orders(1).await;
    eventually("no transaction stays open", async || (open_transactions(&bench).await == 0).then_some(()))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_reset_at_any_moment_have_one_effect() {
    let bench = Bench::start().await;
    for round in 0..40_u64 {
        let socket = sent(&bench, &order(1)).await;
        // The moment of the disconnect moves through the request. Each request is a retry of the first one.
        let _ = tokio::time::timeout(Duration::from_micros(round * 250), socket.readable()).await;
        reset(socket);
    }
    let response = eventually("the key is settled", async || {
        Some(bench.place(KEY, order(1)).await).filter(|response| response.status != 409)
    })
    .await;
    assert_eq!(response.status, 201);
    bench.assert_orders(1).await;
    eventually("no transaction stays open", async || (open_transactions(&bench).await == 0).then_some(()))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_incomplete_body_has_no_effect() {
    let bench = Bench::start().await;
    let mut socket = TcpStream::connect(bench.address).await.unwrap();
    let head = bench.head(
        "/v1/orders",
        &["Content-Type: application/json", "Content-Length: 1000", &format!("Idempotency-Key: {KEY}")],
    );
    socket.write_all(format!("{head}\r\n{}", order(1)).as_bytes()).await.unwrap();
    reset(socket);
    bench.place(KEY, order(2)).await.assert_placed();
    bench.assert_orders(1).await;
}

async fn open_transactions(bench: &Bench) -> i64 {
    let sessions = "SELECT count(*) AS number FROM pg_locks WHERE locktype = 'transactionid' \
                    AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())";
    bench.number(sessions).await
}
