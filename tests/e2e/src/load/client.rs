//! A client that sends one request until the response is final.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use harness::{Client, Endpoint, Part, Request, Response};
use serde_json::Value;

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// Longer than any fault of any test.
const LIMIT: Duration = Duration::from_mins(2);

/// The refusal of a request that was executed and whose connection broke. The retry shows it, because it gets a replay.
pub(super) const UNANSWERED: &str = "executed, without a response";

/// Sends to several instances in turn. Cheap to clone.
#[derive(Clone)]
pub(super) struct PatientClient {
    client: Client,
    orders: Arc<[Endpoint]>,
    payments: Arc<[Endpoint]>,
    turn: Arc<AtomicUsize>,
}

impl PatientClient {
    pub(super) fn new(client: Client, orders: &[Endpoint], payments: &[Endpoint]) -> Self {
        Self { client, orders: orders.into(), payments: payments.into(), turn: Arc::default() }
    }

    fn next_endpoint(&self, part: Part) -> &Endpoint {
        let endpoints = if part == Part::Orders { &self.orders } else { &self.payments };
        &endpoints[self.turn.fetch_add(1, Ordering::Relaxed) % endpoints.len()]
    }

    async fn send_once(&self, request: &Request) -> reqwest::Result<Response> {
        self.client.send(self.next_endpoint(request.part), request).await
    }

    /// Waits until an operation of payments has ended; returns the body of its reply.
    pub(super) async fn final_body(&self, operation: &str) -> Value {
        let (start, request) = (Instant::now(), Request::get(Part::Payments, operation));
        loop {
            if let Ok(response) = self.send_once(&request).await
                && let view = response.json()
                && view["reply"].is_object()
            {
                return view["reply"]["body"].clone();
            }
            assert!(start.elapsed() < LIMIT, "{operation} has not ended after {LIMIT:?}");
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Sends a request until the response is not retryable; counts the refusals before.
    pub(super) async fn send(&self, request: &Request, refusals: &mut BTreeMap<String, usize>) -> Response {
        let start = Instant::now();
        let mut broken = false;
        loop {
            let refusal = match self.send_once(request).await {
                Ok(response) => {
                    let problem = response.json();
                    assert!(response.status != 500, "{request:?}: {problem}");
                    if problem["retryable"] != true {
                        if broken && response.is_replay() {
                            *refusals.entry(UNANSWERED.to_owned()).or_default() += 1;
                        }
                        return response;
                    }
                    format!("{} {}", response.status, response.code())
                }
                Err(error) if error.is_connect() => "no connection".to_owned(),
                Err(error) if error.is_timeout() => "no response in time".to_owned(),
                Err(_) => {
                    broken = true;
                    "a broken connection".to_owned()
                }
            };
            assert!(
                start.elapsed() < LIMIT,
                "no final response after {LIMIT:?}, the last time: {refusal}: {request:?}"
            );
            *refusals.entry(refusal).or_default() += 1;
            tokio::time::sleep(PAUSE).await;
        }
    }
}
