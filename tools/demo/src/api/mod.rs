//! The services as any client sees them: HTTP, JSON, a bearer token and keys.

mod answer;
mod money;
mod processor;
mod shop;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use reqwest::{Client, Method};
use uuid::Uuid;

use crate::part::{Instance, Part};
use crate::stack::Stack;
use crate::trouble::Trouble;
pub(crate) use answer::Answer;
pub(crate) use money::Payment;
pub(crate) use shop::{CommandRequest, Order};

/// What is asked of a part, whichever of its instances it reaches; the same bytes for each of them.
struct Request<'a> {
    method: Method,
    part: Part,
    path: &'a str,
    body: Option<&'a str>,
    key: Option<Uuid>,
    /// Of the processor, on what it tells.
    signature: Option<&'a str>,
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

    /// The same client with so many connections open to a part, and that with its own to the database: so that as many
    /// requests can meet at the same moment. `look` is read for it.
    pub(crate) async fn with_connections(
        &self,
        number: usize,
        part: Part,
        look: &str,
    ) -> Result<Self, Trouble> {
        let api = Self { client: client(number)?, ..Self::new(self.stack, self.token.clone())? };
        try_join_all((0..number).map(|_| api.get(part, look))).await?;
        Ok(api)
    }

    pub(crate) async fn get(&self, part: Part, path: &str) -> Result<Answer, Trouble> {
        self.ask(&getting(part, path)).await
    }

    /// Asks this instance and no other.
    pub(crate) async fn get_at(&self, instance: Instance, path: &str) -> Result<Answer, Trouble> {
        let answer = self.send_to(instance, &getting(instance.part, path)).await;
        answer.map_err(|source| Trouble::NoAnswer { request: format!("GET {path} of {instance}"), source })
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
        if let Some(signature) = request.signature {
            built = built.header("Stripe-Signature", signature);
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

fn getting(part: Part, path: &str) -> Request<'_> {
    Request { method: Method::GET, part, path, body: None, key: None, signature: None }
}

/// A command, which is sent with a key.
fn commanding<'a>(part: Part, path: &'a str, key: Option<Uuid>, body: &'a str) -> Request<'a> {
    Request { method: Method::POST, body: Some(body), key, ..getting(part, path) }
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
