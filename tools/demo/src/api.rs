//! The services as any client sees them: HTTP, JSON, a bearer token and keys.

use std::time::{Duration, Instant};

use contracts::Money;
use futures_util::future::try_join_all;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Client, Method, RequestBuilder};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::stack::{Part, Stack};
use crate::trouble::Trouble;

/// An answer, read to its end.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    request: String,
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

/// A client of this tenant.
pub(crate) struct Api<'s> {
    client: Client,
    stack: &'s Stack,
    token: String,
}

impl<'s> Api<'s> {
    pub(crate) fn new(stack: &'s Stack, token: String) -> Result<Self, Trouble> {
        // Another crate of this process may have installed the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // A connection of its own for each request: the demo kills servers, and a request that fails for a connection
        // that died before it would tell nothing.
        let client = client(0)?;
        Ok(Self { client, stack, token })
    }

    /// The same client with so many connections open, and the service with its own to its database: so that as many
    /// requests can meet at the same moment.
    pub(crate) async fn with_connections(&self, number: usize) -> Result<Self, Trouble> {
        let api = Self { client: client(number)?, stack: self.stack, token: self.token.clone() };
        try_join_all((0..number).map(|_| api.get(Part::Orders, "/v1/orders?limit=1"))).await?;
        Ok(api)
    }

    /// Places an order; the caller judges the answer, or that there is none.
    pub(crate) async fn try_place(&self, key: Option<Uuid>, body: &str) -> reqwest::Result<Answer> {
        let request = self.json(Method::POST, Part::Orders, "/v1/orders", body.to_owned());
        exchange("POST /v1/orders", with_key(request, key)).await
    }

    pub(crate) async fn place(&self, key: Uuid, body: &str) -> Result<Answer, Trouble> {
        let answer = self.try_place(Some(key), body).await;
        answer.map_err(|source| Trouble::NoAnswer { request: "POST /v1/orders".to_owned(), source })
    }

    pub(crate) async fn cancel(&self, order: Uuid, reason: &str) -> Result<Answer, Trouble> {
        let path = format!("/v1/orders/{order}/cancel");
        let body = json!({"reason": reason}).to_string();
        let request = self.json(Method::POST, Part::Orders, &path, body);
        ask(format!("POST {path}"), with_key(request, Some(Uuid::new_v4()))).await
    }

    pub(crate) async fn order(&self, id: Uuid) -> Result<Order, Trouble> {
        self.get(Part::Orders, &format!("/v1/orders/{id}")).await?.read(200)
    }

    pub(crate) async fn put_item(&self, sku: &str, name: &str, price: Money) -> Result<Answer, Trouble> {
        let path = format!("/v1/items/{sku}");
        let body = json!({"name": name, "unit_price": price}).to_string();
        ask(format!("PUT {path}"), self.json(Method::PUT, Part::Inventory, &path, body)).await
    }

    pub(crate) async fn adjust(&self, sku: &str, delta: i64) -> Result<Stock, Trouble> {
        let path = format!("/v1/items/{sku}/adjustments");
        let body = json!({"delta": delta, "reason": "delivery for the demo"}).to_string();
        let request = self.json(Method::POST, Part::Inventory, &path, body);
        ask(format!("POST {path}"), with_key(request, Some(Uuid::new_v4()))).await?.read(201)
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
        let request = self.client.get(self.stack.url(part, path)).bearer_auth(&self.token);
        ask(format!("GET {path} of {}", part.name()), request).await
    }

    /// The processor's own answer, with its own kind of credentials.
    pub(crate) async fn ask_processor(&self, path: &str) -> Result<Value, Trouble> {
        let request = self.client.get(self.stack.url(Part::Provider, path)).bearer_auth("sk_test_demo");
        ask(format!("GET {path} of provider"), request).await?.read(200)
    }

    fn json(&self, method: Method, part: Part, path: &str, body: String) -> RequestBuilder {
        let request = self.client.request(method, self.stack.url(part, path)).bearer_auth(&self.token);
        request.header("Content-Type", "application/json").body(body)
    }
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

fn with_key(request: RequestBuilder, key: Option<Uuid>) -> RequestBuilder {
    match key {
        Some(key) => request.header("Idempotency-Key", key.to_string()),
        None => request,
    }
}

async fn ask(name: String, request: RequestBuilder) -> Result<Answer, Trouble> {
    let answer = exchange(&name, request).await;
    answer.map_err(|source| Trouble::NoAnswer { request: name, source })
}

async fn exchange(name: &str, request: RequestBuilder) -> reqwest::Result<Answer> {
    let start = Instant::now();
    let response = request.send().await?;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let bytes = response.bytes().await?.to_vec();
    Ok(Answer { request: name.to_owned(), status, headers, bytes, took: start.elapsed() })
}
