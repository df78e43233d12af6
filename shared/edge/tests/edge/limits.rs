//! Limits for the size, the duration and the media type of a body.

use std::time::Duration;

use reqwest::Method;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::bench::{Bench, KEY, order, read, send};

fn large() -> String {
    let order = order(1);
    format!("{order}{}", " ".repeat(1024 * 1024 - order.len()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_body_that_is_announced_is_refused() {
    let bench = Bench::start().await;
    for _ in 0..5 {
        let problem = bench.place(KEY, large()).await.refuses(413, "request-too-large");
        assert!(problem.detail.contains("32768"), "{problem:?}");
    }
    bench.assert_untouched().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_body_in_chunks_is_refused() {
    let bench = Bench::start().await;
    for _ in 0..5 {
        let mut socket = TcpStream::connect(bench.address).await.unwrap();
        let head = bench.head(
            "/v1/orders",
            &[
                "Content-Type: application/json",
                "Transfer-Encoding: chunked",
                &format!("Idempotency-Key: {KEY}"),
            ],
        );
        socket.write_all(format!("{head}\r\n").as_bytes()).await.unwrap();
        let chunk = format!("1000\r\n{}\r\n", " ".repeat(0x1000));
        for _ in 0..256 {
            // The server may have closed the connection already.
            if socket.write_all(chunk.as_bytes()).await.is_err() {
                break;
            }
        }
        // The body does not end, so the server closes the connection.
        read(&mut socket).await.refuses(413, "request-too-large");
    }
    bench.assert_untouched().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_exactly_the_limit_is_accepted() {
    let bench = Bench::start().await;
    let exact = format!("{}{}", order(1), " ".repeat(32 * 1024 - order(1).len()));
    bench.place(KEY, format!("{exact} ")).await.refuses(413, "request-too-large");
    bench.place(KEY, exact).await.assert_placed();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_body_is_aborted_at_its_deadline() {
    let bench = Bench::with(|settings| settings.body_deadline = Duration::from_millis(300)).await;
    // No byte, half of the body, and one byte at a time: the deadline is for the whole body.
    for (length, sent) in [
        ("Content-Length: 10000", ""),
        ("Content-Length: 10000", "{\"lines\":"),
        ("Transfer-Encoding: chunked", ""),
        ("Transfer-Encoding: chunked", "9\r\n{\"lines\":\r\n"),
    ] {
        let mut socket = open(&bench, length, sent).await;
        assert!(read(&mut socket).await.refuses(408, "request-timeout").retryable);
    }
    let (mut reading, mut writing) = open(&bench, "Content-Length: 10000", "{").await.into_split();
    let drip = async move {
        while writing.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let (response, ()) = tokio::join!(read(&mut reading), drip);
    response.refuses(408, "request-timeout");
    bench.assert_untouched().await;
    bench.place(KEY, order(1)).await.assert_placed();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_asks_for_a_web_socket_is_refused_at_once_and_another_protocol_is_an_offer() {
    let bench = Bench::start().await;
    let place = |protocol| {
        let request = bench.command("/v1/orders", KEY, order(1)).header("Connection", "Upgrade");
        send(request.header("Upgrade", protocol))
    };
    place("WebSocket").await.refuses(400, "request-invalid");
    place("h2c").await.assert_placed();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_body_is_aborted_before_its_deadline() {
    let bench = Bench::with(|settings| settings.body_deadline = Duration::from_hours(1)).await;
    let mut socket = open(&bench, "Content-Length: 10000", "{\"lines\":").await;
    read(&mut socket).await.refuses(408, "request-timeout");
    bench.assert_untouched().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_breaks_off_does_nothing() {
    let bench = Bench::start().await;
    let mut socket = open(&bench, "Content-Length: 10000", "{\"lines\":").await;
    socket.shutdown().await.unwrap();
    let problem = read(&mut socket).await.refuses(400, "request-invalid");
    assert!(problem.detail.contains("broke off"), "{problem:?}");
    bench.assert_untouched().await;
    bench.place(KEY, order(1)).await.assert_placed();
}

#[tokio::test(flavor = "multi_thread")]
async fn only_json_is_read() {
    let bench = Bench::start().await;
    for wrong in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/json5",
        "application/merge-patch+json",
        "",
    ] {
        let request = bench.request(Method::POST, "/v1/orders").header("Idempotency-Key", KEY);
        let problem = send(request.header("Content-Type", wrong).body(order(1))).await;
        problem.refuses(415, "unsupported-media-type");
    }
    let request = bench.request(Method::POST, "/v1/orders").header("Idempotency-Key", KEY).body(order(1));
    send(request).await.refuses(415, "unsupported-media-type");
    let request = bench.command("/v1/orders", KEY, order(1)).header("Content-Encoding", "gzip");
    send(request).await.refuses(415, "unsupported-media-type");
    bench.assert_untouched().await;
    // Parameters and letter case do not change the media type.
    let request = bench.request(Method::POST, "/v1/orders").header("Idempotency-Key", KEY);
    send(request.header("Content-Type", "Application/JSON;charset=UTF-8").body(order(1)))
        .await
        .assert_placed();
}

/// The server of actix-web answers before a service sees a request. `docs/problems.md` lists these responses.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_complete_http_request_gets_a_response_without_a_body() {
    let bench = Bench::start().await;
    let lines = "X-Line: n\r\n".repeat(97);
    let heads = [
        ("hello\r\n\r\n".to_owned(), 400),
        (format!("GET /v1/orders HTTP/1.1\r\n{lines}\r\n"), 431),
        (format!("GET /v1/orders HTTP/1.1\r\nX-Long: {}\r\n\r\n", "n".repeat(256 * 1024)), 431),
        ("GET /v1/orders HTTP/1.1\r\n".to_owned(), 408),
    ];
    for (head, status) in heads {
        let mut socket = TcpStream::connect(bench.address).await.unwrap();
        // The server may close the connection before it has read a long head.
        let _ = socket.write_all(head.as_bytes()).await;
        let response = read(&mut socket).await;
        assert_eq!((response.status, response.body.len()), (status, 0), "{response:?}");
    }
}

/// Announces a body, and sends only this part.
async fn open(bench: &Bench, length: &str, sent: &str) -> TcpStream {
    let mut socket = TcpStream::connect(bench.address).await.unwrap();
    let head = bench
        .head("/v1/orders", &["Content-Type: application/json", length, &format!("Idempotency-Key: {KEY}")]);
    socket.write_all(format!("{head}\r\n{sent}").as_bytes()).await.unwrap();
    socket
}
