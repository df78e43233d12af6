//! The commands of clients over HTTP: charges and refunds in each of their states.

mod charging;
mod refund_retries;
mod refunding;
mod refusals;
mod unknown_outcomes;
mod validation;

use std::net::SocketAddr;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpServer};
use database::Database;
use edge::{Authenticator, Edge, EdgeSettings, TokenPolicy};
use envelope::Topics;
use payments::Payments;
use reqwest::Method;
use reqwest::header::HeaderMap;
use runtime::Context;
use serde_json::{Value, json};
use testkit::{eventually, identity};
use uuid::Uuid;

use crate::stage::{AMOUNT, Stage, TENANT, VISA};

/// Longer than any test.
pub(crate) const LONG: Duration = Duration::from_mins(10);
pub(crate) const SHORT: Duration = Duration::from_millis(50);
const SCOPES: &str = "payments:read payments:write payments:refund";

/// A response.
#[derive(Debug, Clone)]
pub(crate) struct ApiResponse {
    pub(crate) status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl ApiResponse {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// The body without the id of its request, so that the responses to two requests can be compared.
    fn without_id(&self) -> Value {
        let mut body = self.json();
        body.as_object_mut().unwrap().remove("request_id");
        body
    }

    /// Expects a problem with this status and code. `retryable` must agree with `Retry-After`.
    #[track_caller]
    fn refuses(&self, status: u16, code: &str) {
        let body = self.json();
        assert_eq!((self.status, body["code"].as_str()), (status, Some(code)), "{body}");
        assert_eq!(self.header("retry-after").is_some(), body["retryable"] == true, "{body}");
    }

    #[track_caller]
    fn assert_replays(&self, first: &Self) {
        assert_eq!(self.header("idempotency-status"), Some("replayed"), "{self:?}");
        assert_eq!((self.status, &self.body), (first.status, &first.body));
        for name in ["location", "content-type", "retry-after"] {
            assert_eq!(self.header(name), first.header(name), "{name}");
        }
    }

    fn operation(&self) -> String {
        assert_eq!((self.status, self.header("retry-after")), (202, Some("1")), "{self:?}");
        self.header("location").unwrap().to_owned()
    }
}

/// The HTTP API of the service. It stops when it is dropped.
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    http: reqwest::Client,
    server: ServerHandle,
}

/// Starts the API on this stage. A command waits this long for its outcome.
pub(crate) async fn client(stage: &Stage, wait: Duration) -> Client {
    client_on(stage, Database::clone(&stage.database), wait).await
}

/// Starts another instance of the API.
async fn client_on(stage: &Stage, database: Database, wait: Duration) -> Client {
    let authenticator =
        Authenticator::from_jwks(&identity::jwks(), TokenPolicy::of(identity::ISSUER, identity::AUDIENCE))
            .unwrap();
    let settings = EdgeSettings { operation_wait: wait, ..EdgeSettings::default() };
    let edge = Edge::new(database.clone(), authenticator, settings);
    let settings = stage.settings();
    let context = Context::<Payments> { database, topics: Topics::of("test"), settings };
    let routes = move || App::new().configure(runtime::routes(edge.clone(), context.clone()));
    let server = HttpServer::new(routes).workers(1).bind("127.0.0.1:0").unwrap();
    let address = server.addrs()[0];
    let server = server.disable_signals().run();
    let handle = server.handle();
    #[expect(clippy::disallowed_methods, reason = "stopped when the client is dropped")]
    tokio::spawn(server);
    Client { address, http: testkit::http::client(), server: handle }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.server.stop(false));
    }
}

impl Client {
    async fn send(
        &self,
        who: (&str, &str),
        method: Method,
        path: &str,
        more: Option<(&str, &str)>,
    ) -> ApiResponse {
        let mut request = self
            .http
            .request(method, format!("http://{}{path}", self.address))
            .timeout(Duration::from_mins(1))
            .bearer_auth(identity::token(who.0, "web-shop", who.1));
        if let Some((key, body)) = more {
            request = request.header("Idempotency-Key", key).header("Content-Type", "application/json");
            request = request.body(body.to_owned());
        }
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        ApiResponse { status, headers, body: response.bytes().await.unwrap().to_vec() }
    }

    async fn get(&self, path: &str) -> ApiResponse {
        self.send((TENANT, SCOPES), Method::GET, path, None).await
    }

    async fn post(&self, path: &str, key: &str, body: &Value) -> ApiResponse {
        self.send((TENANT, SCOPES), Method::POST, path, Some((key, &body.to_string()))).await
    }

    async fn charge(&self, key: &str, body: &Value) -> ApiResponse {
        self.post("/v1/payments", key, body).await
    }

    pub(crate) async fn refund(&self, payment: &str, key: &str, body: &Value) -> ApiResponse {
        self.post(&format!("/v1/payments/{payment}/refunds"), key, body).await
    }

    /// Waits until the operation has ended. Returns its reply.
    async fn becomes(&self, operation: &str, status: &str) -> Value {
        let what = format!("an operation that is {status}");
        let found = eventually(&what, async || {
            let found = self.get(operation).await.json();
            (found["status"] == status).then_some(found)
        });
        found.await["reply"].clone()
    }

    /// Returns the state of the key's record, as its owner reads it.
    async fn state_of(&self, key: &str) -> Value {
        self.get(&format!("/v1/idempotency-keys/{key}")).await.json()["data"][0]["state"].clone()
    }
}

pub(crate) fn key() -> String {
    Uuid::new_v4().to_string()
}

/// The body of a charge of this card.
fn with_card(card: &str) -> Value {
    json!({ "amount": { "amount": AMOUNT, "currency": "EUR" }, "payment_method": card, "reference": "invoice 1" })
}

fn visa() -> Value {
    with_card(VISA)
}

/// The body of a partial refund.
pub(crate) fn part(amount: i64) -> Value {
    json!({ "amount": { "amount": amount, "currency": "EUR" }, "reason": "broken" })
}

fn whole() -> Value {
    json!({ "reason": "broken" })
}
