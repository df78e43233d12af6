#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! The example, run as a program.

use std::process::Stdio;

use testkit::{TestDatabase, http};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;
use uuid::Uuid;

#[tokio::test]
async fn a_request_sent_twice_sells_one_seat_and_a_seat_is_sold_once() {
    let database = TestDatabase::empty().await;
    let mut program = Command::new(env!("CARGO_BIN_EXE_idempotent-post"))
        .env("MIGRATION_URL", database.owner_url())
        .env("DATABASE_URL", database.service_url(None))
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
    let url =
        format!("{}/tickets", lines.next_line().await.unwrap().expect("the program prints its address"));
    let client = http::client();
    let send = async |key: Uuid, seat: &str| {
        let body = format!("{{\"seat\":\"{seat}\"}}");
        let request = client.post(&url).header("Idempotency-Key", key.to_string()).body(body);
        let response = request.send().await.unwrap();
        let media_type = response.headers().get("Content-Type").map(|value| value.as_bytes().to_vec());
        (response.status().as_u16(), media_type, response.text().await.unwrap())
    };
    let (first, second) = (Uuid::new_v4(), Uuid::new_v4());
    let sold = send(first, "A-12").await;
    assert_eq!(sold.0, 201);
    assert_eq!(send(first, "A-12").await, sold, "the same request again");
    assert_eq!(
        send(second, "A-12").await,
        (409, Some(b"text/plain".to_vec()), "the seat is sold".to_owned()),
        "another request for the seat"
    );
    assert_eq!(send(first, "B-1").await.0, 409, "the same key for another seat");
    assert_eq!(client.post(&url).body("{}").send().await.unwrap().status(), 400, "no key");
    program.kill().await.unwrap();
}
