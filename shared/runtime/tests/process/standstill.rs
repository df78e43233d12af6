//! A process that stands still: a log that nobody reads, and threads that never come back. The example blocks its own threads.

use std::collections::BTreeSet;
use std::future::pending;
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use contracts::OrderId;
use diesel::sql_query;
use diesel_async::RunQueryDsl;
use testkit::{Metrics, eventually, free_port};
use tokio::process::Child;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use crate::greeter::{Running, Surroundings, ask};
use crate::operators::{confirm, greeted};

/// The exit code of a process that the watchdog has ended.
const ENDED_BY_WATCHDOG: i32 = 3;

async fn exit_code(process: &mut Child) -> Option<i32> {
    let ended = timeout(Duration::from_mins(1), process.wait()).await;
    ended.expect("the process did not end").unwrap().code()
}

#[tokio::test]
async fn a_log_that_nobody_reads_stops_no_request_and_sigterm_ends_the_process() {
    let surroundings = Surroundings::new().await;
    let [public, admin] = [free_port(), free_port()];
    let mut serve = surroundings.serve();
    serve
        .env("IDEM_HTTP__PORT", public.to_string())
        .env("IDEM_ADMIN__PORT", admin.to_string())
        .env("IDEM_LOG__LEVEL", "trace");
    // One pipe for both, as under a supervisor, and its reader reads nothing.
    let (reader, writer) = std::io::pipe().unwrap();
    let mut process =
        serve.stdout(Stdio::from(writer.try_clone().unwrap())).stderr(Stdio::from(writer)).spawn().unwrap();
    drop(serve);
    let [public, admin] = [public, admin].map(|port| ([127, 0, 0, 1], port).into());
    eventually("readiness", async || {
        answer(admin, "/health/ready").await.filter(|(status, _)| *status == 200)
    })
    .await;
    eventually("dropped lines", async || {
        assert_eq!(answer(public, "/v1/greeting").await, Some((200, "\"Hello\"".to_owned())));
        let metrics = Metrics::parse(&answer(admin, "/metrics").await.unwrap().1);
        (metrics.count("idem_log_dropped_lines_total") > 0).then_some(())
    })
    .await;
    assert_eq!(answer(admin, "/health/live").await.unwrap().0, 200);
    let id = process.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert_eq!(exit_code(&mut process).await, Some(0));
    drop(reader);
    surroundings.clear().await;
}

/// The response, or a panic if the process does not answer.
async fn answer(address: SocketAddr, path: &str) -> Option<(u16, String)> {
    timeout(Duration::from_secs(30), ask(address, "GET", path)).await.expect("an answer")
}

/// Lets these threads of an example block, and waits until liveness names these parts.
async fn standing_still(surroundings: &Surroundings, threads: &str, parts: &str) -> Running {
    let mut serve = surroundings.serve();
    let running =
        Running::start(serve.env("IDEM_SHUTDOWN__DRAIN_SECONDS", "1").env("IDEM_HTTP__WORKERS", "2"));
    running.ready().await;
    let (public, admin) = (running.address("address").await, running.address("admin").await);
    assert_eq!(answer(admin, "/health/live").await, Some((200, r#"{"status":"live"}"#.to_owned())));
    // A worker that blocks does not answer, and a request that is given up may not have arrived: it stays open meanwhile.
    let path = format!("/v1/standstill/{threads}");
    let blocks = async {
        let _ = ask(public, "POST", &path).await;
        pending::<()>().await;
    };
    let body = format!(r#"{{"parts":[{parts}],"status":"standing still"}}"#);
    let fails = async {
        let start = Instant::now();
        loop {
            let live = answer(admin, "/health/live").await;
            if live == Some((503, body.clone())) {
                break;
            }
            assert!(start.elapsed() < Duration::from_mins(1), "liveness is {live:?}, and should be {body}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::select! {
        () = blocks => {}
        () = fails => {}
    }
    let (ready, _) = answer(admin, "/health/ready").await.unwrap();
    assert_eq!(ready, 503);
    let metrics = answer(admin, "/metrics").await.unwrap().1;
    assert!(metrics.lines().any(|line| line == "idem_ready 0"), "{metrics}");
    running
}

#[tokio::test]
async fn a_blocked_http_worker_fails_liveness_and_sigterm_ends_the_process() {
    let surroundings = Surroundings::new().await;
    let mut running = standing_still(&surroundings, "worker", r#""HTTP worker""#).await;
    running.terminate();
    assert_eq!(running.exit_code().await, Some(1));
    running.logged("greeter failed: did not end in time: requests").await;
    surroundings.clear().await;
}

#[tokio::test]
async fn a_frozen_database_runtime_fails_liveness_and_sigterm_ends_the_process() {
    let surroundings = Surroundings::new().await;
    let mut running = standing_still(&surroundings, "database", r#""database runtime","consumer""#).await;
    running.terminate();
    assert_eq!(running.exit_code().await, Some(1));
    surroundings.clear().await;
}

#[tokio::test]
async fn a_blocked_main_thread_fails_liveness_and_the_watchdog_ends_the_process() {
    let surroundings = Surroundings::new().await;
    let mut running = standing_still(&surroundings, "main", r#""main thread""#).await;
    running.terminate();
    assert_eq!(running.exit_code().await, Some(ENDED_BY_WATCHDOG));
    running.logged("the watchdog ends the process").await;
    surroundings.clear().await;
}

#[tokio::test]
async fn an_instance_whose_handler_blocks_loses_its_partitions_to_another_one() {
    let surroundings = Surroundings::new().await;
    let stuck = Running::start(surroundings.serve().env("IDEM_GREETER__STUCK", "true"));
    stuck.ready().await;
    let first = OrderId::generate();
    confirm(&surroundings, first, 1..=1).await;
    // The handler blocks one thread of the runtime. The others go on, and so do the threads of the client library.
    eventually("a transaction that stands still", async || stands_still(&surroundings).await.then_some(()))
        .await;
    let other = Running::start(&mut surroundings.serve());
    other.logged("listening").await;
    let second = OrderId::generate();
    confirm(&surroundings, second, 1..=1).await;
    all_greeted(&surroundings, &[first, second]).await;
    other.ready().await;
    stuck.signal("-KILL");
    other.end().await;
    surroundings.clear().await;
}

/// The group shares the partitions out no more, so only the silence of the first instance can end its membership.
#[tokio::test]
async fn an_instance_whose_handler_blocks_beside_another_one_loses_its_partitions() {
    let surroundings = Surroundings::new().await;
    let stuck = Running::start(surroundings.serve().env("IDEM_GREETER__STUCK", "true"));
    stuck.ready().await;
    let other = Running::start(&mut surroundings.serve());
    stuck.logged("partitions revoked").await;
    eventually("partitions of the other instance", async || {
        let assigned = other.entries("partitions assigned");
        assigned.iter().any(|entry| entry["partitions"].as_u64() > Some(0)).then_some(())
    })
    .await;
    let mut orders = Vec::new();
    while !stands_still(&surroundings).await {
        assert!(orders.len() < 100, "none of 100 orders is in a partition of the first instance");
        orders.push(OrderId::generate());
        confirm(&surroundings, orders[orders.len() - 1], 1..=1).await;
        eventually("the message, at one of the two", async || {
            let is_greeted = greeted(&surroundings).await.len() == orders.len();
            (is_greeted || stands_still(&surroundings).await).then_some(())
        })
        .await;
    }
    all_greeted(&surroundings, &orders).await;
    stuck.signal("-KILL");
    other.end().await;
    surroundings.clear().await;
}

/// Returns whether a handler has not ended its transaction.
async fn stands_still(surroundings: &Surroundings) -> bool {
    let waiting = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction' \
                   AND state_change < clock_timestamp() - interval '0.5 s'";
    let mut connection = surroundings.database.connection().await.unwrap();
    sql_query(waiting).execute(&mut connection).await.unwrap() > 0
}

async fn all_greeted(surroundings: &Surroundings, orders: &[OrderId]) {
    eventually("all messages at the other instance", async || {
        let greeted: BTreeSet<Uuid> =
            greeted(surroundings).await.into_iter().map(|(order, _)| order).collect();
        (greeted == orders.iter().map(|order| order.uuid()).collect()).then_some(())
    })
    .await;
}
