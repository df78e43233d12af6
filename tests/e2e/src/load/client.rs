//! One request, sent until there is an answer that says what became of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::http;

use crate::customer::{Customer, TEA, key};

/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(50);

/// Longer than any fault of any test lasts.
const PATIENCE: Duration = Duration::from_mins(2);

/// Longer than a server may take for an answer.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A request that was taken and carried out, whose client was left with a broken connection. One that nobody had read
/// yet may break, too: then the next one is no replay.
pub(super) const UNANSWERED: &str = "carried out, and never answered";

/// Of the answer's headers those that are part of it, and not of the moment.
const KEPT: [&str; 3] = ["content-type", "etag", "location"];

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Service {
    Orders,
    Payments,
}

/// What is wanted, under one key.
#[derive(Debug, Clone)]
pub(super) struct Intent {
    of: Service,
    key: String,
    path: String,
    body: Value,
}

impl Intent {
    pub(super) fn place(quantity: usize, card: &str) -> Self {
        let body = json!({"lines": [{"sku": TEA, "quantity": quantity}], "payment_method": card});
        Self::new(Service::Orders, "/v1/orders".to_owned(), body)
    }

    pub(super) fn cancel(order: &str) -> Self {
        let body = json!({"reason": "changed my mind"});
        Self::new(Service::Orders, format!("/v1/orders/{order}/cancel"), body)
    }

    pub(super) fn charge(amount: i64, card: &str) -> Self {
        let body = json!({"amount": {"amount": amount, "currency": "EUR"}, "payment_method": card});
        Self::new(Service::Payments, "/v1/payments".to_owned(), body)
    }

    pub(super) fn refund(payment: &str, amount: i64) -> Self {
        let body = json!({"amount": {"amount": amount, "currency": "EUR"}, "reason": "broken"});
        Self::new(Service::Payments, format!("/v1/payments/{payment}/refunds"), body)
    }

    fn new(of: Service, path: String, body: Value) -> Self {
        Self { of, key: key(), path, body }
    }
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// Sends to several instances in turn. Cheap to clone.
#[derive(Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    token: String,
    orders: Arc<[String]>,
    payments: Arc<[String]>,
    turn: Arc<AtomicUsize>,
}

impl Client {
    pub(super) fn of(customer: &Customer, orders: &[String], payments: &[String]) -> Self {
        let (token, turn) = (customer.token(), Arc::default());
        Self { http: http::client(), token, orders: orders.into(), payments: payments.into(), turn }
    }

    /// The one whose turn it is.
    fn instance(&self, of: Service) -> &str {
        let instances = if of == Service::Orders { &self.orders } else { &self.payments };
        &instances[self.turn.fetch_add(1, Ordering::Relaxed) % instances.len()]
    }

    /// Waits until an operation of payments has ended; returns the body of its reply.
    pub(super) async fn outcome(&self, operation: &str) -> Value {
        let start = Instant::now();
        loop {
            let get =
                self.http.get(format!("{}{operation}", self.instance(Service::Payments))).timeout(TIMEOUT);
            if let Ok(answer) = get.bearer_auth(&self.token).send().await
                && let Ok(view) = answer.json::<Value>().await
                && view["reply"].is_object()
            {
                return view["reply"]["body"].clone();
            }
            assert!(start.elapsed() < PATIENCE, "{operation} has not ended after {PATIENCE:?}");
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Sends it until the answer is no invitation to send it again; counts what came before.
    pub(super) async fn send(&self, intent: &Intent, refusals: &mut BTreeMap<String, usize>) -> Answer {
        let start = Instant::now();
        let mut broken = false;
        loop {
            let refusal = match self.once(intent).await {
                Ok((answer, replayed)) => {
                    let problem = answer.json();
                    assert!(answer.status != 500, "{intent:?}: {problem}");
                    if problem["retryable"] != true {
                        if broken && replayed {
                            *refusals.entry(UNANSWERED.to_owned()).or_default() += 1;
                        }
                        return answer;
                    }
                    format!("{} {}", answer.status, problem["code"].as_str().unwrap_or_default())
                }
                Err(error) if error.is_connect() => "no connection".to_owned(),
                Err(error) if error.is_timeout() => "no answer in time".to_owned(),
                Err(_) => {
                    broken = true;
                    "a broken connection".to_owned()
                }
            };
            assert!(
                start.elapsed() < PATIENCE,
                "no answer after {PATIENCE:?}, the last time: {refusal}: {intent:?}"
            );
            *refusals.entry(refusal).or_default() += 1;
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The answer, and whether it is that of an earlier request.
    async fn once(&self, intent: &Intent) -> reqwest::Result<(Answer, bool)> {
        let instance = self.instance(intent.of);
        let post = self.http.post(format!("{instance}{}", intent.path)).timeout(TIMEOUT);
        let post = post.bearer_auth(&self.token).header("Idempotency-Key", &intent.key).json(&intent.body);
        let answer = post.send().await?;
        let status = answer.status().as_u16();
        let kept = KEPT.iter().filter_map(|name| {
            let value = answer.headers().get(*name)?.to_str().ok()?;
            Some(((*name).to_owned(), value.to_owned()))
        });
        let headers = kept.collect();
        let replayed = answer.headers().contains_key("Idempotent-Replayed");
        Ok((Answer { status, headers, body: answer.bytes().await?.to_vec() }, replayed))
    }
}
