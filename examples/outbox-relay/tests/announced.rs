#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! The example, run as a program.

use std::process::Stdio;

use messaging::admin;
use serde_json::Value;
use testkit::{TestDatabase, TestTopics, eventually};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::Command;

#[tokio::test]
async fn a_sale_is_announced_if_and_only_if_it_commits() {
    let (database, topics) = (TestDatabase::empty().await, TestTopics::names());
    let mut program = Command::new(env!("CARGO_BIN_EXE_outbox-relay"))
        .env("MIGRATION_URL", database.owner_url())
        .env("DATABASE_URL", database.service_url(None))
        .env("KAFKA_BROKERS", topics.brokers().to_string())
        .env("DEPLOYMENT", topics.deployment())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut input = program.stdin.take().unwrap();
    input.write_all(b"A-12\nA-12\nB-1\n").await.unwrap();
    let mut output = BufReader::new(program.stdout.take().unwrap()).lines();
    let mut printed = async || output.next_line().await.unwrap().unwrap();
    assert_eq!(printed().await, "A-12: sold");
    assert!(printed().await.contains("duplicate key"), "the second sale of a seat fails");
    assert_eq!(printed().await, "B-1: sold");

    let topic = topics.prefixed("tickets.events");
    let seats = eventually("both sales are announced", async || {
        let messages = admin::read_all(&topics.brokers(), &topic).await.ok()?;
        let mut seats: Vec<String> = messages
            .iter()
            .map(|message| serde_json::from_slice::<Value>(message.payload.as_deref().unwrap()).unwrap())
            .map(|event| event["seat"].as_str().unwrap().to_owned())
            .collect();
        seats.sort_unstable();
        (seats.len() >= 2).then_some(seats)
    })
    .await;
    assert_eq!(seats, ["A-12", "B-1"]);
    drop(input);
    assert!(program.wait().await.unwrap().success());
}
