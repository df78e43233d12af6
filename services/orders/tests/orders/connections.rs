//! The round trips of a request; and no request holds a connection while it waits for something else.

use std::time::Duration;

use diesel_async::SimpleAsyncConnection;
use edge::EdgeSettings;
use serde_json::{Value, json};
use testkit::{RoundTrips, identity};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::bench::{Bench, key, order, problem};

/// BEGIN, key and lookup together; the prices; order, event, fact, timeline, record and snapshot as one statement, with COMMIT.
const OF_A_FIRST_EXECUTION: usize = 3;
/// BEGIN, key and lookup together. The ROLLBACK is not waited for.
const OF_A_REPLAY: usize = 1;

#[tokio::test(flavor = "multi_thread")]
async fn an_order_needs_three_round_trips_and_its_replay_one() {
    let counter = RoundTrips::to_postgres().await;
    let bench = Bench::of_one_connection(Some(counter.address()), EdgeSettings::default()).await;
    bench.item("acme", "TEA", 450, "EUR").await;
    // The first requests connect and prepare statements.
    for key in [key(), key()] {
        for _ in 0..2 {
            assert_eq!(bench.place("acme", &key, &order("TEA")).await.status(), 201);
        }
    }
    let (mut first, mut replay) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let key = key();
        for (counts, status) in [(&mut first, "executed"), (&mut replay, "replayed")] {
            let (response, count) = counter.of(bench.place("acme", &key, &order("TEA"))).await;
            assert_eq!(response.status(), 201);
            assert_eq!(response.headers()["Idempotency-Status"], status);
            counts.push(count);
            // A replay is answered before its transaction has ended. The next request for the only connection waits for that.
            assert_eq!(bench.get("acme", "/v1/orders").await.status(), 200);
        }
    }
    let least = |counts: &[usize]| counts.iter().copied().min().unwrap();
    assert!(
        least(&first) <= OF_A_FIRST_EXECUTION,
        "POST /v1/orders needed {first:?} round trips, {OF_A_FIRST_EXECUTION} are promised: is a statement awaited \
         alone that could travel with others?"
    );
    assert!(
        least(&replay) <= OF_A_REPLAY,
        "its replay needed {replay:?} round trips, {OF_A_REPLAY} are promised"
    );
}

/// Stops every read of a price until the transaction ends.
const HOLD: &str = "BEGIN; LOCK TABLE catalogue_item IN ACCESS EXCLUSIVE MODE";

/// The number of white-space bytes before a slow body. They are sent one by one.
const DROPS: usize = 2000;

/// The head of a request whose body will come slowly. The server is reading it: it has asked for the body.
async fn slow_request(bench: &Bench, key: &str, body: &str) -> TcpStream {
    let mut socket = TcpStream::connect(bench.address).await.unwrap();
    let token = identity::token("acme", "shop", "orders:write");
    let head = format!(
        "POST /v1/orders HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Idempotency-Key: {key}\r\nContent-Length: {}\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n",
        bench.address,
        DROPS + body.len()
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut go_on = [0; 25];
    socket.read_exact(&mut go_on).await.unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    socket
}

/// Sends the body byte by byte, so that no idle timeout ends it, and the rest when `end` is sent. Returns the response.
async fn send_slowly(mut socket: TcpStream, body: &str, mut end: oneshot::Receiver<()>) -> String {
    let (mut sent, mut drops) = (0, tokio::time::interval(Duration::from_millis(50)));
    while sent < DROPS {
        tokio::select! {
            _ = drops.tick() => socket.write_all(b" ").await.unwrap(),
            _ = &mut end => break,
        }
        sent += 1;
    }
    let rest = " ".repeat(DROPS - sent) + body;
    socket.write_all(rest.as_bytes()).await.unwrap();
    let mut response = String::new();
    socket.read_to_string(&mut response).await.unwrap();
    response.to_lowercase()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_still_arriving_holds_no_connection() {
    let settings = EdgeSettings { body_deadline: Duration::from_mins(1), ..EdgeSettings::default() };
    let bench = Bench::of_one_connection(None, settings).await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let (slow_key, body) = (key(), order("TEA").to_string());
    let slow = slow_request(&bench, &slow_key, &body).await;
    let (end, ended) = oneshot::channel();
    let meanwhile = async {
        // The only connection serves others meanwhile, also one with the slow request's own key.
        assert_eq!(bench.place("acme", &key(), &order("TEA")).await.status(), 201);
        assert_eq!(bench.get("acme", "/v1/orders").await.status(), 200);
        let overtaken = bench.place("acme", &slow_key, &order("TEA")).await;
        assert_eq!(overtaken.headers()["Idempotency-Status"], "executed");
        end.send(()).unwrap();
    };
    let (response, ()) = tokio::join!(send_slowly(slow, &body, ended), meanwhile);
    assert!(response.starts_with("http/1.1 201 "), "{response}");
    assert!(response.contains("idempotency-status: replayed"), "{response}");
    assert_eq!(bench.count("SELECT count(*) FROM orders").await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_in_progress_is_409_at_once_and_holds_no_connection() {
    let bench = Bench::of_one_connection(None, EdgeSettings::default()).await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let other = bench.second_instance();
    let mut owner = bench.database.owner().await;
    owner.batch_execute(HOLD).await.unwrap();
    let (key, body) = (key(), order("TEA"));
    let meanwhile = async {
        bench.until_held().await;
        for _ in 0..5 {
            let (refused, read) =
                tokio::join!(other.place("acme", &key, &body), other.get("acme", "/v1/orders"));
            assert_eq!(refused.headers()["Retry-After"], "1");
            assert_eq!(problem(refused, 409).await, "idempotency-key-in-progress");
            assert_eq!(read.json::<Value>().await.unwrap()["data"], json!([]));
        }
        owner.batch_execute("COMMIT").await.unwrap();
    };
    let (first, ()) = tokio::join!(bench.place("acme", &key, &body), meanwhile);
    assert_eq!(first.status(), 201);
    let again = other.place("acme", &key, &body).await;
    assert_eq!(again.headers()["Idempotency-Status"], "replayed");
    assert_eq!(again.text().await.unwrap(), first.text().await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_refused_by_a_check_before_the_database_needs_no_connection() {
    let bench = Bench::of_one_connection(None, EdgeSettings::default()).await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let mut owner = bench.database.owner().await;
    owner.batch_execute(HOLD).await.unwrap();
    let body = order("TEA");
    let meanwhile = async {
        bench.until_held().await;
        // The only connection is in use: a request that needs it would wait and get 503.
        let token = |tenant: &str, scopes: &str| identity::token(tenant, "shop", scopes);
        let client = testkit::http::client();
        let url = format!("http://{}/v1/orders", bench.address);
        let post = |token: String| client.post(&url).bearer_auth(token).header("Idempotency-Key", key());
        let writer = |tenant: &str| token(tenant, "orders:write");
        let refusals = [
            (post("nonsense".to_owned()).json(&body), 401, "unauthenticated"),
            (post(token("one", "orders:read")).json(&body), 403, "forbidden"),
            (
                post(writer("two")).header("Content-Type", "application/json").body("{"),
                400,
                "request-invalid",
            ),
            (client.post(&url).bearer_auth(writer("three")).json(&body), 400, "idempotency-key-missing"),
            (post(writer("four")).body("{}"), 415, "unsupported-media-type"),
        ];
        for (request, status, code) in refusals {
            assert_eq!(problem(request.send().await.unwrap(), status).await, code);
        }
        owner.batch_execute("COMMIT").await.unwrap();
    };
    let key = key();
    let (first, ()) = tokio::join!(bench.place("acme", &key, &body), meanwhile);
    assert_eq!(first.status(), 201);
}
