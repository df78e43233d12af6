//! The HTTP client of the processor.
//!
//! It sends each request once and never retries by itself, because the worker counts the attempts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Response, Url, redirect, retry};
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

use super::circuit_breaker::{BreakerSettings, CircuitBreaker};
use super::classify::classify;
use super::response::{Movement, ProcessorResponse};
use crate::domain::AttemptOutcome;

/// Shorter than the idle timeout of usual servers. Otherwise a request could use a connection that is being closed.
const IDLE_CONNECTION: Duration = Duration::from_secs(2);
/// The longest response that is read. An object has a few kilobytes, and a page has a hundred objects.
const MAX_RESPONSE: usize = 1024 * 1024;
/// Selects the version of the protocol. Without this header, the processor uses the version of the account.
const VERSION: HeaderName = HeaderName::from_static("stripe-version");

/// The settings of the client.
#[derive(Debug, Clone)]
pub struct ClientSettings {
    /// The version of the protocol, for instance `2025-03-31.basil`.
    pub version: String,
    /// Timeout of the TCP and TLS handshakes. After it, nothing was sent.
    pub connect: Duration,
    /// Timeout of one request with its response. After it, the outcome is unknown.
    pub request: Duration,
    /// Timeout of all requests of one attempt or lookup.
    pub total: Duration,
    /// Concurrent requests.
    pub concurrency: usize,
    /// When the circuit breaker opens.
    pub breaker: BreakerSettings,
}

/// Why a client cannot be made.
#[derive(Debug, Error)]
pub enum ProcessorError {
    /// The secret key cannot be sent.
    #[error("the secret key is not printable ASCII")]
    SecretKey,
    /// The version cannot be sent.
    #[error("the version is not printable ASCII")]
    Version,
    /// The HTTP client cannot be made, for instance because the system has no root certificates.
    #[error("the HTTP client cannot be made: {0}")]
    Client(#[from] reqwest::Error),
}

/// A request. It is the same for each attempt.
pub struct Request {
    /// The requested movement.
    pub movement: Movement,
    /// The idempotency key at the processor.
    pub key: String,
    /// The stored request body.
    pub body: Vec<u8>,
}

/// A client of the processor. It is cheap to clone. All clones share their connections and one circuit breaker.
#[derive(Clone)]
pub struct Processor {
    client: Client,
    base: Arc<Url>,
    breaker: Arc<CircuitBreaker>,
    request: Duration,
    total: Duration,
}

impl Processor {
    /// Makes a client of the processor at `base` (http or https).
    pub fn new(
        base: Url,
        secret_key: &SecretString,
        settings: &ClientSettings,
    ) -> Result<Self, ProcessorError> {
        // An error means that another client has installed the same provider, so it is ignored.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let bearer: SecretString = format!("Bearer {}", secret_key.expose_secret()).into();
        let mut authorization =
            HeaderValue::from_str(bearer.expose_secret()).map_err(|_| ProcessorError::SecretKey)?;
        authorization.set_sensitive(true);
        let version = HeaderValue::from_str(&settings.version).map_err(|_| ProcessorError::Version)?;
        let client = Client::builder()
            .default_headers(HeaderMap::from_iter([(AUTHORIZATION, authorization), (VERSION, version)]))
            .user_agent(concat!("idem-payments/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            // The configuration comes from this service's own settings, not from HTTP_PROXY.
            .no_proxy()
            .connect_timeout(settings.connect)
            .pool_idle_timeout(IDLE_CONNECTION);
        // Plain HTTP needs no root certificates, which a small image does not have.
        let client = if base.scheme() == "http" { client.tls_certs_only([]) } else { client };
        Ok(Self {
            client: client.build()?,
            base: Arc::new(base),
            breaker: Arc::new(CircuitBreaker::new(settings.concurrency, settings.breaker)),
            request: settings.request,
            total: settings.total,
        })
    }

    /// Returns the state of the circuit breaker: one of `BREAKER_STATES`.
    pub(crate) fn breaker_state(&self) -> &'static str {
        self.breaker.state_name()
    }

    /// Sends a request once. A `PaymentIntent` that waits for the absent customer is cancelled, and is then declined.
    pub async fn send(&self, request: &Request) -> AttemptOutcome {
        let until = self.deadline();
        let path = ["v1", request.movement.collection()];
        let response = self.post(&path, &request.key, request.body.clone(), until).await;
        match classify(request.movement, &response) {
            AttemptOutcome::RequiresAction { payment_intent } => {
                self.cancel_waiting(request.movement, &request.key, &payment_intent, until).await
            }
            outcome => outcome,
        }
    }

    /// Cancels a `PaymentIntent` that waits for the absent customer. Only after the cancellation is it declined, because
    /// then it can never be captured.
    pub(super) async fn cancel_waiting(
        &self,
        movement: Movement,
        key: &str,
        payment_intent: &str,
        until: Instant,
    ) -> AttemptOutcome {
        let path = ["v1", "payment_intents", payment_intent, "cancel"];
        let response = self.post(&path, &format!("{key}-cancel"), Vec::new(), until).await;
        match classify(movement, &response) {
            AttemptOutcome::Declined { .. } => {
                AttemptOutcome::Declined { code: "authentication_required".to_owned() }
            }
            // The customer has confirmed it in the meantime.
            AttemptOutcome::Succeeded(reference) => AttemptOutcome::Succeeded(reference),
            AttemptOutcome::NotSent
            | AttemptOutcome::NotExecuted { .. }
            | AttemptOutcome::Rejected { .. }
            | AttemptOutcome::Processing { .. }
            | AttemptOutcome::RequiresAction { .. }
            | AttemptOutcome::Unknown(_) => {
                AttemptOutcome::RequiresAction { payment_intent: payment_intent.to_owned() }
            }
        }
    }

    /// The deadline of an attempt or lookup that begins now.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.total
    }

    async fn post(&self, path: &[&str], key: &str, body: Vec<u8>, until: Instant) -> ProcessorResponse {
        let request = self.client.post(self.url(path)).header("Idempotency-Key", key);
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        self.exchange(request.header(CONTENT_TYPE, form).body(body), until).await
    }

    /// Sends a GET request.
    pub(super) async fn get(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        until: Instant,
    ) -> ProcessorResponse {
        let mut url = self.url(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        self.exchange(self.client.get(url), until).await
    }

    /// Exchanges a request for a response, if the circuit breaker permits the request.
    #[tracing::instrument(name = "processor_call", skip_all)]
    async fn exchange(&self, request: RequestBuilder, until: Instant) -> ProcessorResponse {
        let Some(permit) = self.breaker.acquire(until).await else { return ProcessorResponse::NotSent };
        let left = until.saturating_duration_since(Instant::now()).min(self.request);
        let response = read_response(request.timeout(left)).await.unwrap_or_else(|error| {
            // The URL is left out of the log, because it contains the ids of objects.
            let error = error.without_url();
            tracing::warn!(%error, sent = !error.is_connect(), "the processor did not respond");
            traces::fail(&tracing::Span::current());
            if error.is_connect() { ProcessorResponse::NotSent } else { ProcessorResponse::Lost }
        });
        if response.shows_health() {
            permit.succeeded();
        }
        response
    }

    fn url(&self, path: &[&str]) -> Url {
        let mut url = Url::clone(&self.base);
        // Every http or https URL has path segments.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }
}

async fn read_response(request: RequestBuilder) -> reqwest::Result<ProcessorResponse> {
    let mut response = request.send().await?;
    // The processor has handled the request. The body of its response is not read yet.
    crashpoint::reach!("charge.request_sent");
    let (status, replayed) = (response.status().as_u16(), is_replayed(&response));
    let retry_after = retry_after(&response);
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_RESPONSE {
            tracing::error!(
                status,
                "the processor's response is longer than {MAX_RESPONSE} bytes and was not read"
            );
            return Ok(ProcessorResponse::Lost);
        }
    }
    crashpoint::reach!("charge.response_read");
    Ok(ProcessorResponse::Received { status, replayed, retry_after, body })
}

fn is_replayed(response: &Response) -> bool {
    response.headers().get("idempotent-replayed").is_some_and(|value| value == "true")
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}
