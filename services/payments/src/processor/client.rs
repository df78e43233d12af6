//! Carries one request over and brings one answer back. It repeats nothing by itself: whoever counts attempts must be
//! the only one who makes them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Response, Url, redirect, retry};
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

use super::classify::{Answer, Asked, classify};
use super::gate::{Breaker, Gate};
use crate::domain::Outcome;

/// Below what servers usually keep a connection open for, so that none is used as it is being closed.
const IDLE_CONNECTION: Duration = Duration::from_secs(2);
/// An object of the protocol has a few kilobytes, and a page has a hundred objects.
const MAX_ANSWER: usize = 1024 * 1024;
/// The protocol's dialect that answers are read in; without it, each account has its own.
const VERSION: HeaderName = HeaderName::from_static("stripe-version");

/// How the processor is talked to.
#[derive(Debug, Clone)]
pub struct Manners {
    /// The version of the protocol, for instance `2025-03-31.basil`.
    pub version: String,
    /// For the TCP and TLS handshakes; past it nothing was sent.
    pub connect: Duration,
    /// For one request, its answer included; past it nobody knows.
    pub request: Duration,
    /// For all that one attempt or one look-up does.
    pub total: Duration,
    /// Requests at the same time.
    pub concurrency: usize,
    /// When nothing is sent.
    pub breaker: Breaker,
}

/// The processor cannot be talked to, whatever it would say.
#[derive(Debug, Error)]
pub enum ProcessorError {
    /// The secret key cannot be sent.
    #[error("the secret key is not printable ASCII")]
    SecretKey,
    /// The version cannot be sent.
    #[error("the version is not printable ASCII")]
    Version,
    /// The TLS client cannot be made, for instance because the system has no root certificates.
    #[error("the HTTP client cannot be made: {0}")]
    Client(#[from] reqwest::Error),
}

/// What is asked, and under which key. The same each time it is asked.
pub struct Request {
    /// What is asked for.
    pub asked: Asked,
    /// The processor carries out one request under it.
    pub key: String,
    /// The frozen form.
    pub body: Vec<u8>,
}

/// A client of the processor. Cheap to clone; all clones share their connections, and one gate.
#[derive(Clone)]
pub struct Processor {
    client: Client,
    base: Arc<Url>,
    gate: Arc<Gate>,
    request: Duration,
    total: Duration,
}

impl Processor {
    /// A client of the processor at `base` (http or https).
    pub fn new(base: Url, secret_key: &SecretString, manners: &Manners) -> Result<Self, ProcessorError> {
        // The process has one; whoever came first has installed the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let bearer: SecretString = format!("Bearer {}", secret_key.expose_secret()).into();
        let mut authorization =
            HeaderValue::from_str(bearer.expose_secret()).map_err(|_| ProcessorError::SecretKey)?;
        authorization.set_sensitive(true);
        let version = HeaderValue::from_str(&manners.version).map_err(|_| ProcessorError::Version)?;
        let client = Client::builder()
            .default_headers(HeaderMap::from_iter([(AUTHORIZATION, authorization), (VERSION, version)]))
            .user_agent(concat!("idem-payments/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            // Our configuration stands in our own variables, not in HTTP_PROXY.
            .no_proxy()
            .connect_timeout(manners.connect)
            .pool_idle_timeout(IDLE_CONNECTION);
        // Plain HTTP needs no root certificates, and a small image has none.
        let client = if base.scheme() == "http" { client.tls_certs_only([]) } else { client };
        Ok(Self {
            client: client.build()?,
            base: Arc::new(base),
            gate: Arc::new(Gate::new(manners.concurrency, manners.breaker)),
            request: manners.request,
            total: manners.total,
        })
    }

    /// Asks once. An intent that waits for a customer who is not there is cancelled, and counts as declined then.
    pub async fn ask(&self, request: &Request) -> Outcome {
        let until = self.deadline();
        let path = match request.asked {
            Asked::Charge(_) => ["v1", "payment_intents"],
            Asked::Refund(_) => ["v1", "refunds"],
        };
        let answer = self.post(&path, &request.key, request.body.clone(), until).await;
        match classify(request.asked, &answer) {
            Outcome::RequiresAction { intent } => {
                self.abandon(request.asked, &request.key, &intent, until).await
            }
            outcome => outcome,
        }
    }

    /// Cancelled at the processor, an intent can never be captured any more: only then it may be called declined.
    pub(super) async fn abandon(&self, asked: Asked, key: &str, intent: &str, until: Instant) -> Outcome {
        let path = ["v1", "payment_intents", intent, "cancel"];
        let answer = self.post(&path, &format!("{key}-cancel"), Vec::new(), until).await;
        match classify(asked, &answer) {
            Outcome::Declined { .. } => Outcome::Declined { code: "authentication_required".to_owned() },
            // It was confirmed by somebody in the meantime.
            Outcome::Succeeded(receipt) => Outcome::Succeeded(receipt),
            Outcome::NotSent
            | Outcome::NotExecuted { .. }
            | Outcome::Rejected { .. }
            | Outcome::Processing { .. }
            | Outcome::RequiresAction { .. }
            | Outcome::Unknown(_) => Outcome::RequiresAction { intent: intent.to_owned() },
        }
    }

    /// When whatever begins now must have ended.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.total
    }

    async fn post(&self, path: &[&str], key: &str, body: Vec<u8>, until: Instant) -> Answer {
        let request = self.client.post(self.url(path)).header("Idempotency-Key", key);
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        self.send(request.header(CONTENT_TYPE, form).body(body), until).await
    }

    /// Reads, which changes nothing and may be repeated at will.
    pub(super) async fn get(&self, path: &[&str], query: &[(&str, &str)], until: Instant) -> Answer {
        let mut url = self.url(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        self.send(self.client.get(url), until).await
    }

    async fn send(&self, request: RequestBuilder, until: Instant) -> Answer {
        let Some(pass) = self.gate.pass(until).await else { return Answer::NotSent };
        let left = until.saturating_duration_since(Instant::now()).min(self.request);
        let answer = exchange(request.timeout(left)).await.unwrap_or_else(|error| {
            // Without its URL, which may be the place of a mistake but is never its cause.
            let error = error.without_url();
            tracing::warn!(%error, sent = !error.is_connect(), "the processor did not answer");
            if error.is_connect() { Answer::NotSent } else { Answer::Lost }
        });
        if answer.shows_health() {
            pass.ended_well();
        }
        answer
    }

    fn url(&self, path: &[&str]) -> Url {
        let mut url = Url::clone(&self.base);
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }
}

async fn exchange(request: RequestBuilder) -> reqwest::Result<Answer> {
    let mut response = request.send().await?;
    // The processor has acted; its answer is not read yet.
    crashpoint::reach!("charge.request_sent");
    let (status, replayed) = (response.status().as_u16(), is_replayed(&response));
    let retry_after = retry_after(&response);
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ANSWER {
            tracing::error!(
                status,
                "the processor's answer is longer than {MAX_ANSWER} bytes; it was not read"
            );
            return Ok(Answer::Lost);
        }
    }
    crashpoint::reach!("charge.response_read");
    Ok(Answer::Reply { status, replayed, retry_after, body })
}

fn is_replayed(response: &Response) -> bool {
    response.headers().get("idempotent-replayed").is_some_and(|value| value == "true")
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}
