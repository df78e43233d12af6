//! The services as any client sees them: HTTP, JSON, a bearer token and keys.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use contracts::Money;
use futures_util::future::try_join_all;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Client, Method};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::part::{Instance, Part};
use crate::stack::Stack;
use crate::trouble::Trouble;

/// An answer, read to its end.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    request: String,
    /// Who has answered.
    pub(crate) instance: Instance,
    pub(crate) status: u16,
    headers: HeaderMap,
    pub(crate) bytes: Vec<u8>,
    pub(crate) took: Duration,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn is_replay(&self) -> bool {
        self.header("idempotent-replayed") == Some("true")
    }

    /// What belongs to the answer itself: all of it but the marks of the replay.
    pub(crate) fn receipt(&self) -> (u16, Option<&str>, Option<&str>, &[u8]) {
        (self.status, self.header("content-type"), self.header("location"), &self.bytes)
    }

    /// The problem's code; empty if it is none.
    pub(crate) fn code(&self) -> String {
        let body: Value = serde_json::from_slice(&self.bytes).unwrap_or_default();
        body["code"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let seconds = self.header(RETRY_AFTER.as_str())?.parse().ok()?;
        Some(Duration::from_secs(seconds))
    }

    pub(crate) fn read<T: DeserializeOwned>(&self, status: u16) -> Result<T, Trouble> {
        let request = self.request.clone();
        if self.status != status {
            let body = String::from_utf8_lossy(&self.bytes).into_owned();
            return Err(Trouble::OtherAnswer { request, expected: status, status: self.status, body });
        }
        let read = serde_json::from_slice(&self.bytes);
        read.map_err(|error| Trouble::Unreadable { request, reason: error.to_string() })
    }
}

/// An order, as much of it as the demo looks at.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Order {
    pub(crate) id: Uuid,
    pub(crate) status: String,
    pub(crate) cancellation: Option<Cancellation>,
    pub(crate) total: Money,
    pub(crate) payment_id: Option<Uuid>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Cancellation {
    pub(crate) reason: String,
}

impl Order {
    /// The status, with the reason if it was cancelled.
    pub(crate) fn end(&self) -> String {
        match &self.cancellation {
            Some(cancellation) => format!("{}/{}", self.status, cancellation.reason),
            None => self.status.clone(),
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self.status.as_str(), "pending" | "awaiting_payment")
    }
}

/// An item's stock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) struct Stock {
    pub(crate) on_hand: i64,
    pub(crate) reserved: i64,
}

/// What one order shall be.
pub(crate) struct Wish<'a> {
    pub(crate) lines: &'a [(&'a str, i64)],
    pub(crate) card: &'a str,
    pub(crate) reference: &'a str,
}

impl Wish<'_> {
    /// The body; the same bytes for each retry.
    pub(crate) fn body(&self) -> String {
        let lines: Vec<Value> =
            self.lines.iter().map(|(sku, quantity)| json!({"sku": sku, "quantity": quantity})).collect();
        json!({"lines": lines, "payment_method": self.card, "reference": self.reference}).to_string()
    }
}

/// What is asked of a part, whichever of its instances it reaches; the same bytes for each of them.
struct Request<'a> {
    method: Method,
    part: Part,
    path: &'a str,
    body: Option<&'a str>,
    key: Option<Uuid>,
}

/// A client of this tenant.
pub(crate) struct Api<'s> {
    client: Client,
    stack: &'s Stack,
    token: String,
    /// How many requests found nobody at one instance, and went on to the next.
    pub(crate) passed_on: AtomicUsize,
}

impl<'s> Api<'s> {
    pub(crate) fn new(stack: &'s Stack, token: String) -> Result<Self, Trouble> {
        // Another crate of this process may have installed the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // A connection of its own for each request: the demo kills servers, and a request that fails for a connection
        // that died before it would tell nothing.
        let client = client(0)?;
        Ok(Self { client, stack, token, passed_on: AtomicUsize::new(0) })
    }

    /// The same client with so many connections open, and the services with their own to the database: so that as many
    /// requests can meet at the same moment.
    pub(crate) async fn with_connections(&self, number: usize) -> Result<Self, Trouble> {
        let api = Self { client: client(number)?, ..Self::new(self.stack, self.token.clone())? };
        try_join_all((0..number).map(|_| api.get(Part::Orders, "/v1/orders?limit=1"))).await?;
        Ok(api)
    }

    /// Places an order at any instance; the caller judges the answer, or that there is none.
    pub(crate) async fn try_place(&self, key: Option<Uuid>, body: &str) -> reqwest::Result<Answer> {
        self.send(&placing(key, body)).await
    }

    /// Places an order at this instance.
    pub(crate) async fn try_place_at(
        &self,
        instance: Instance,
        key: Uuid,
        body: &str,
    ) -> reqwest::Result<Answer> {
        self.send_to(instance, &placing(Some(key), body)).await
    }

    pub(crate) async fn place(&self, key: Uuid, body: &str) -> Result<Answer, Trouble> {
        self.ask(&placing(Some(key), body)).await
    }

    pub(crate) async fn place_at(
        &self,
        instance: Instance,
        key: Uuid,
        body: &str,
    ) -> Result<Answer, Trouble> {
        let answer = self.try_place_at(instance, key, body).await;
        answer
            .map_err(|source| Trouble::NoAnswer { request: format!("POST /v1/orders of {instance}"), source })
    }

    pub(crate) async fn cancel(&self, order: Uuid, reason: &str) -> Result<Answer, Trouble> {
        let path = format!("/v1/orders/{order}/cancel");
        let body = json!({"reason": reason}).to_string();
        self.ask(&Request { path: &path, ..placing(Some(Uuid::new_v4()), &body) }).await
    }

    pub(crate) async fn order(&self, id: Uuid) -> Result<Order, Trouble> {
        self.get(Part::Orders, &format!("/v1/orders/{id}")).await?.read(200)
    }

    pub(crate) async fn put_item(&self, sku: &str, name: &str, price: Money) -> Result<Answer, Trouble> {
        let path = format!("/v1/items/{sku}");
        let body = json!({"name": name, "unit_price": price}).to_string();
        let (method, part) = (Method::PUT, Part::Inventory);
        self.ask(&Request { method, part, path: &path, body: Some(&body), key: None }).await
    }

    pub(crate) async fn adjust(&self, sku: &str, delta: i64) -> Result<Stock, Trouble> {
        let path = format!("/v1/items/{sku}/adjustments");
        let body = json!({"delta": delta, "reason": "delivery for the demo"}).to_string();
        let (method, part, key) = (Method::POST, Part::Inventory, Some(Uuid::new_v4()));
        self.ask(&Request { method, part, path: &path, body: Some(&body), key }).await?.read(201)
    }

    pub(crate) async fn stock(&self, sku: &str) -> Result<Stock, Trouble> {
        self.get(Part::Inventory, &format!("/v1/items/{sku}")).await?.read(200)
    }

    /// The status of the order's reservation; `none` if it has none.
    pub(crate) async fn reservation(&self, order: Uuid) -> Result<String, Trouble> {
        #[derive(Deserialize)]
        struct Reservation {
            status: String,
        }
        let answer = self.get(Part::Inventory, &format!("/v1/reservations/{order}")).await?;
        if answer.status == 404 {
            return Ok("none".to_owned());
        }
        Ok(answer.read::<Reservation>(200)?.status)
    }

    pub(crate) async fn get(&self, part: Part, path: &str) -> Result<Answer, Trouble> {
        self.ask(&getting(part, path)).await
    }

    /// Asks this instance and no other.
    pub(crate) async fn get_at(&self, instance: Instance, path: &str) -> Result<Answer, Trouble> {
        let answer = self.send_to(instance, &getting(instance.part, path)).await;
        answer.map_err(|source| Trouble::NoAnswer { request: format!("GET {path} of {instance}"), source })
    }

    /// The processor's own answer.
    pub(crate) async fn ask_processor(&self, path: &str) -> Result<Value, Trouble> {
        self.get(Part::Provider, path).await?.read(200)
    }

    async fn ask(&self, request: &Request<'_>) -> Result<Answer, Trouble> {
        let answer = self.send(request).await;
        answer.map_err(|source| Trouble::NoAnswer { request: request.name(), source })
    }

    /// Sends to one instance after the other until there is a connection: nothing was sent to where there is none.
    async fn send(&self, request: &Request<'_>) -> reqwest::Result<Answer> {
        let mut instances = self.stack.in_turn(request.part);
        let last = instances.pop().unwrap_or(request.part.instance(1));
        for instance in instances {
            match self.send_to(instance, request).await {
                Err(error) if error.is_connect() => {
                    self.passed_on.fetch_add(1, Ordering::Relaxed);
                }
                answer => return answer,
            }
        }
        self.send_to(last, request).await
    }

    /// Sends again as the rate limit asks for it: the demo looks all the time, and has no rights that others lack.
    async fn send_to(&self, instance: Instance, request: &Request<'_>) -> reqwest::Result<Answer> {
        loop {
            let answer = self.send_once(instance, request).await?;
            match answer.retry_after() {
                Some(pause) if answer.status == 429 => tokio::time::sleep(pause).await,
                _ => return Ok(answer),
            }
        }
    }

    async fn send_once(&self, instance: Instance, request: &Request<'_>) -> reqwest::Result<Answer> {
        // The processor is somebody else's system, with a kind of credentials of its own.
        let token = if instance.part == Part::Provider { "sk_test_demo" } else { &self.token };
        let url = self.stack.url(instance, request.path);
        let mut built = self.client.request(request.method.clone(), url).bearer_auth(token);
        if let Some(body) = request.body {
            built = built.header("Content-Type", "application/json").body(body.to_owned());
        }
        if let Some(key) = request.key {
            built = built.header("Idempotency-Key", key.to_string());
        }
        let start = Instant::now();
        let response = built.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = response.bytes().await?.to_vec();
        Ok(Answer { request: request.name(), instance, status, headers, bytes, took: start.elapsed() })
    }
}

impl Request<'_> {
    fn name(&self) -> String {
        format!("{} {} of {}", self.method, self.path, self.part.name())
    }
}

fn placing(key: Option<Uuid>, body: &str) -> Request<'_> {
    Request { method: Method::POST, part: Part::Orders, path: "/v1/orders", body: Some(body), key }
}

fn getting(part: Part, path: &str) -> Request<'_> {
    Request { method: Method::GET, part, path, body: None, key: None }
}

/// An HTTP client that keeps so many connections open.
fn client(idle_connections: usize) -> Result<Client, Trouble> {
    Client::builder()
        .no_proxy()
        .tls_certs_only([])
        .timeout(Duration::from_secs(15))
        .pool_max_idle_per_host(idle_connections)
        .build()
        .map_err(|source| Trouble::NoAnswer { request: "making the HTTP client".to_owned(), source })
}
