//! The log contains no keys, tokens or bodies. Every line has the id of its request, and the last one the outcome.

use std::io::{self, Write};
use std::sync::{Arc, LazyLock, Mutex};

use idempotency::{Key, KeyPolicy};
use reqwest::Method;
use serde_json::json;
use testkit::{eventually, identity};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::bench::{Bench, SCOPES, json_body, key, noted, send};

/// The log of this process, with the entries of all tests.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

static LOG: LazyLock<Log> = LazyLock::new(|| {
    let log = Log::default();
    // The PostgreSQL driver's own debug lines show every parameter of every statement. A service leaves them out.
    let filter = EnvFilter::new("debug,tokio_postgres=info");
    tracing_subscriber::fmt().with_writer(log.clone()).with_env_filter(filter).with_ansi(false).init();
    log
});

/// The log from its beginning.
fn log() -> String {
    String::from_utf8(LOG.0.lock().unwrap().clone()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn raw_keys_tokens_and_bodies_are_in_no_log() {
    LazyLock::force(&LOG);
    let bench = Bench::start().await;
    let key = key();
    let token = identity::token("acme", "web-shop", SCOPES);
    let place = async |key: &str, token: &str, body: String| {
        let request = bench.request_as(token, Method::POST, "/v1/orders?secret=canary-query");
        send(json_body(request, body).header("Idempotency-Key", key)).await
    };
    let body = noted("canary-body");
    assert_eq!(place(&key, &token, body.clone()).await.status, 201);
    assert_eq!(place(&key, &token, body).await.status, 201);
    place(&key, &token, noted("canary-body again")).await.refuses(409, "idempotency-key-reused");
    place("canary-key", &token, noted("n")).await.refuses(400, "idempotency-key-invalid");
    place(&key, "canary-token", noted("n")).await.refuses(401, "unauthenticated");
    let unknown = json!({"canary-member": 1}).to_string();
    assert_eq!(place(&crate::bench::key(), &token, unknown).await.status, 400);

    let log = log();
    let hash = Key::parse(key.as_bytes(), KeyPolicy::Uuid).unwrap().short_hash();
    for named in ["IdempotencyKeyReceived", "NewRequestProcessing", "CachedResponseReturned"] {
        let line = log.lines().find(|line| line.contains(named) && line.contains(&hash));
        let line = line.unwrap_or_else(|| panic!("no {named} of {hash}"));
        // The entry is in the span of its request, with the trace id.
        assert!(line.contains("request{") && line.contains("trace="), "{line}");
    }
    let bytes = format!("{:?}", key.as_bytes());
    for secret in [key.as_str(), bytes.trim_matches(['[', ']']), token.as_str(), "canary-"] {
        let line = log.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_line_of_a_request_has_its_id_and_the_only_one_by_default_its_outcome() {
    LazyLock::force(&LOG);
    let bench = Bench::start().await;
    let key = key();
    let hash = Key::parse(key.as_bytes(), KeyPolicy::Uuid).unwrap().short_hash();
    let responses = [
        ("executed", bench.place(&key, noted("one")).await),
        ("replayed", bench.place(&key, noted("one")).await),
        ("refused", bench.place(&key, noted("two")).await),
        ("read", bench.get("/v1/orders").await),
    ];
    for (outcome, response) in responses {
        let id = format!("id=\"{}\"", response.header("x-request-id").unwrap());
        let log = log();
        let lines: Vec<&str> = log.lines().filter(|line| line.contains(&id)).collect();
        let (end, others) = lines.split_last().unwrap_or_else(|| panic!("no line has {id}"));
        assert!(others.iter().all(|line| line.contains("DEBUG ")), "{lines:?}");
        assert!(end.contains("request ended"), "{end}");
        let status = format!("status={}", response.status);
        for part in
            [&*format!("outcome=\"{outcome}\""), &status, "tenant=", "route=\"/v1/orders\"", "microseconds="]
        {
            assert!(end.contains(part), "{part}: {end}");
        }
        let is_command = others.iter().any(|line| line.contains("IdempotencyKeyReceived"));
        assert_eq!(is_command, outcome != "read", "{lines:?}");
        assert_eq!(end.contains(&hash), is_command, "{end}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_without_tokens_does_not_fill_the_log() {
    LazyLock::force(&LOG);
    let bench = Bench::start().await;
    let mut ids = Vec::new();
    let start = tokio::time::Instant::now();
    for _ in 0..300 {
        let response = send(bench.plain(Method::GET, "/v1/orders")).await;
        ids.push(format!("id=\"{}\"", response.header("x-request-id").unwrap()));
        response.refuses(401, "unauthenticated");
    }
    let says_why =
        |line: &str| line.contains(&ids[0]) && line.contains("refusal=\"Send 'Authorization: Bearer TOKEN'.");
    assert!(log().lines().any(says_why));
    let allowed = 100 + 10 * (usize::try_from(start.elapsed().as_secs()).unwrap() + 1);
    let written = |log: &str| log.lines().filter(|line| ids.iter().any(|id| line.contains(id))).count();
    let count = written(&log());
    assert!((100..=allowed).contains(&count), "{count} lines, {allowed} allowed");
    // A later line counts those that were left out.
    eventually("a line again", async || {
        let response = send(bench.plain(Method::GET, "/v1/orders")).await;
        let id = format!("id=\"{}\"", response.header("x-request-id").unwrap());
        let log = log();
        let line = log.lines().find(|line| line.contains(&id))?;
        line.contains("left_out=").then_some(())
    })
    .await;
    let placed = bench.place(&key(), noted("one")).await;
    let id = format!("id=\"{}\"", placed.header("x-request-id").unwrap());
    assert!(log().lines().any(|line| line.contains(&id) && line.contains("request ended")));
}
