//! A client that sends one request until the response is final.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use harness::{Client, Endpoint, Part, Request, Response};
use serde_json::Value;
use testkit::eventually;
use uuid::Uuid;

/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// Longer than any fault of any test.
const LIMIT: Duration = Duration::from_mins(2);

/// The refusal of a request that was executed and whose connection broke. The retry shows it, because it gets a replay.
pub(super) const UNANSWERED: &str = "executed, without a response";

/// Sends to several instances in turn. Cheap to clone.
#[derive(Clone)]
pub(crate) struct PatientClient {
    client: Client,
    endpoints: Arc<[Endpoint]>,
    turn: Arc<AtomicUsize>,
    follows_retry_after: bool,
    /// The requests that got a 5xx and have no final response yet. Counted if the client follows `Retry-After`.
    told_to_come_again: Arc<AtomicUsize>,
}

impl PatientClient {
    pub(super) fn new(client: Client, endpoints: &[Endpoint]) -> Self {
        let (turn, told_to_come_again) = (Arc::default(), Arc::default());
        Self { client, endpoints: endpoints.into(), turn, follows_retry_after: false, told_to_come_again }
    }

    /// The same client, which waits after a 5xx as long as `Retry-After` says, and panics at a second 5xx.
    pub(super) fn following_retry_after(self) -> Self {
        Self { follows_retry_after: true, ..self }
    }

    /// Waits until each request that got a 5xx has a final response.
    pub(super) async fn came_again(&self) {
        let what = "a final response to each request that got a 5xx";
        eventually(what, async || (self.told_to_come_again.load(Ordering::Relaxed) == 0).then_some(())).await;
    }

    /// The instance for an attempt. The next attempt goes to another instance.
    fn endpoint(&self, part: Part, attempt: usize) -> &Endpoint {
        let own = || self.endpoints.iter().filter(|endpoint| endpoint.instance.part == part);
        own().nth(attempt % own().count()).unwrap()
    }

    fn next_turn(&self) -> usize {
        self.turn.fetch_add(1, Ordering::Relaxed)
    }

    async fn send_to(&self, attempt: usize, request: &Request) -> reqwest::Result<Response> {
        self.client.send(self.endpoint(request.part, attempt), request).await
    }

    /// Waits until an order is confirmed or cancelled.
    pub(super) async fn end_of(&self, order: Uuid) {
        let request = Request::get(Part::ORDERS, format!("/v1/orders/{order}"));
        let has_ended = |view: &Value| view["status"] == "confirmed" || view["status"] == "cancelled";
        self.read_until(&request, 10 * PAUSE, has_ended).await;
    }

    /// Reads, with this pause, until the body of a response meets the condition, and returns that body.
    pub(crate) async fn read_until(
        &self,
        request: &Request,
        pause: Duration,
        is_end: impl Fn(&Value) -> bool,
    ) -> Value {
        let start = Instant::now();
        loop {
            if let Ok(response) = self.send_to(self.next_turn(), request).await
                && let view = response.json()
                && is_end(&view)
            {
                return view;
            }
            assert!(start.elapsed() < LIMIT, "{request:?} shows no end after {LIMIT:?}");
            tokio::time::sleep(pause).await;
        }
    }

    /// Sends a request until the response is not retryable; counts the refusals before.
    pub(super) async fn send(&self, request: &Request, refusals: &mut BTreeMap<String, usize>) -> Response {
        let start = Instant::now();
        let (mut broken, mut unavailable) = (false, false);
        for attempt in self.next_turn().. {
            let mut pause = PAUSE;
            let refusal = match self.send_to(attempt, request).await {
                Ok(response) => {
                    let problem = response.json();
                    assert!(response.status != 500, "{request:?}: {problem}");
                    // The HTTP library itself says 408, without a problem, if the process was frozen before it read the request. A
                    // proxy that reaches no instance has no problem either.
                    let is_of_gateway = problem.is_null() && matches!(response.status, 408 | 502..=504);
                    if problem["retryable"] != true && !is_of_gateway {
                        if broken && response.is_replay() {
                            *refusals.entry(UNANSWERED.to_owned()).or_default() += 1;
                        }
                        self.told_to_come_again.fetch_sub(usize::from(unavailable), Ordering::Relaxed);
                        return response;
                    }
                    if self.follows_retry_after && response.status >= 500 {
                        assert!(!unavailable, "a second 5xx after Retry-After: {request:?}: {problem}");
                        unavailable = true;
                        self.told_to_come_again.fetch_add(1, Ordering::Relaxed);
                        pause = response.retry_after().expect("a 5xx has Retry-After");
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
            tokio::time::sleep(pause).await;
        }
        unreachable!("the attempts do not end")
    }
}
