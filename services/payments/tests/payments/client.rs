//! The client of the processor alone: broken exchanges, redirects and retries.

use std::time::Duration;

use contracts::{Currency, Money};
use payments::domain::{AttemptOutcome, UnknownReason};
use payments::processor::{ClientSettings, Movement, Processor, Request};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::http::{Received, respond};
use crate::processor::client_settings;

/// Runs the client against a server that treats the first request like this. A second request would be an error.
async fn meeting<F>(deadline: Duration, serve: impl FnOnce(TcpStream) -> F) -> AttemptOutcome
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let processor =
        Processor::new(base, &"sk_test_1".into(), &ClientSettings { request: deadline, ..client_settings() })
            .unwrap();
    let mut asking = JoinSet::new();
    let movement = Movement::Charge(Money::new(1, Currency::Eur));
    asking.spawn(async move {
        processor.send(&Request { movement, key: "key".to_owned(), body: b"amount=1".to_vec() }).await
    });
    let socket = listener.accept().await.unwrap().0;
    let mut serving = JoinSet::new();
    serving.spawn(serve(socket));
    let outcome = tokio::select! {
        outcome = asking.join_next() => outcome.unwrap().unwrap(),
        _ = listener.accept() => panic!("it asked twice"),
    };
    // Waits for a second request, which must not arrive.
    assert!(tokio::time::timeout(Duration::from_millis(100), listener.accept()).await.is_err());
    outcome
}

const SOON: Duration = Duration::from_millis(200);
const LATE: Duration = Duration::from_secs(30);

#[tokio::test]
async fn an_exchange_that_breaks_anywhere_leaves_the_outcome_unknown() {
    let lost = AttemptOutcome::Unknown(UnknownReason::NoResponse);
    let silent = meeting(SOON, |mut socket| async move {
        Received::read(&mut socket).await.unwrap();
        std::future::pending::<()>().await;
    });
    assert_eq!(silent.await, lost, "no response in time");
    let closed = meeting(LATE, |mut socket| async move {
        Received::read(&mut socket).await.unwrap();
    });
    assert_eq!(closed.await, lost, "no response at all");
    let unread = meeting(LATE, |socket| async move { drop(socket) });
    assert_eq!(unread.await, lost, "the server read no request");
    let truncated = meeting(LATE, |mut socket| async move {
        Received::read(&mut socket).await.unwrap();
        socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"id\":").await.unwrap();
    });
    assert_eq!(truncated.await, lost, "half a response");
    let endless = meeting(LATE, |mut socket| async move {
        Received::read(&mut socket).await.unwrap();
        respond(&mut socket, 200, "", &" ".repeat(1100 * 1024)).await;
    });
    assert_eq!(endless.await, lost, "too long a response");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let outcome = meeting(LATE, |mut socket| async move {
        let host = Received::read(&mut socket).await.unwrap().header("host").unwrap().to_owned();
        respond(&mut socket, 307, &format!("Location: http://{host}/elsewhere\r\n"), "").await;
    });
    assert_eq!(outcome.await, AttemptOutcome::Unknown(UnknownReason::Unreadable { status: 307 }));
}

#[tokio::test]
async fn the_retry_after_of_the_processor_is_read() {
    let outcome = meeting(LATE, |mut socket| async move {
        Received::read(&mut socket).await.unwrap();
        respond(&mut socket, 429, "Retry-After: 7\r\n", "").await;
    });
    let retry_after = Some(Duration::from_secs(7));
    assert_eq!(outcome.await, AttemptOutcome::NotExecuted { status: 429, retry_after });
}
