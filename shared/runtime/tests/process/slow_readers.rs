//! Clients that ask for responses and do not read them.

use std::fs;
use std::net::SocketAddr;
use std::time::Duration;

use testkit::eventually;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::greeter::{Running, Surroundings};

/// As many requests as the server reads ahead, for the largest file that it has: 1.4 MB.
async fn asks_and_does_not_read(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.repeat(16).as_bytes()).await.unwrap();
    stream
}

/// The most memory that the process has had, in KiB.
fn peak(running: &Running) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", running.pid())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}

/// The bytes that the kernel holds for the clients of this listener, in KiB.
fn unsent(address: SocketAddr) -> u64 {
    let port = format!(":{:04X}", address.port());
    let sockets = fs::read_to_string("/proc/net/tcp").unwrap();
    let sockets = sockets.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let queues = sockets.filter(|fields| fields[1].ends_with(&port)).map(|fields| fields[4]);
    queues.map(|queues| u64::from_str_radix(&queues[..8], 16).unwrap()).sum::<u64>() / 1024
}

#[tokio::test]
async fn a_client_that_does_not_read_loses_its_connection() {
    let surroundings = Surroundings::new().await;
    let mut serve = surroundings.serve();
    serve.env("IDEM_HTTP__DOCS", "true").env("IDEM_HTTP__STALL_SECONDS", "1");
    // Others are served only when the connection has ended.
    serve.env("IDEM_HTTP__MAX_CONNECTIONS", "1").env("IDEM_HTTP__WORKERS", "1");
    let running = Running::start(&mut serve);
    let stalled = asks_and_does_not_read(running.address("address").await).await;
    let next = async || timeout(Duration::from_secs(1), running.get("/health/live")).await.ok().flatten();
    eventually("the next connection", next).await;
    drop(stalled);
    running.end().await;
    surroundings.clear().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn two_hundred_clients_that_do_not_read_cost_little_memory() {
    let surroundings = Surroundings::new().await;
    let running = Running::start(surroundings.serve().env("IDEM_HTTP__DOCS", "true"));
    running.ready().await;
    let (address, before) = (running.address("address").await, peak(&running));
    let mut stalled = Vec::new();
    for _ in 0..200 {
        stalled.push(asks_and_does_not_read(address).await);
    }
    // Each response has begun.
    for stream in &stalled {
        stream.readable().await.unwrap();
    }
    assert_eq!(running.get("/health/live").await.unwrap().0, 200);
    let grown = peak(&running) - before;
    assert!(grown < 200 * 160, "{grown} KiB of the process for 200 connections");
    let unsent = unsent(address);
    assert!(0 < unsent && unsent < 200 * 160, "{unsent} KiB of the kernel for 200 connections");
    drop(stalled);
    running.end().await;
    surroundings.clear().await;
}
