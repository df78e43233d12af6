//! Carries one request over and brings one answer back. It repeats nothing by itself: whoever counts attempts must be
//! the only one who makes them.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Response, Url, redirect, retry};
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

use super::classify::{Answer, Asked, classify};
use crate::domain::Outcome;

/// For the TCP and TLS handshakes; past it nothing was sent.
const CONNECT_DEADLINE: Duration = Duration::from_secs(2);
/// Below what servers usually keep a connection open for, so that none is used as it is being closed.
const IDLE_CONNECTION: Duration = Duration::from_secs(2);
/// An answer of the protocol has a few kilobytes.
const MAX_ANSWER: usize = 256 * 1024;

/// The processor cannot be talked to, whatever it would say.
#[derive(Debug, Error)]
pub enum ProcessorError {
    /// The secret key cannot be sent.
    #[error("the secret key is not printable ASCII")]
    SecretKey,
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

/// A client of the processor. Cheap to clone; all clones share their connections.
#[derive(Clone)]
pub struct Processor {
    client: Client,
    base: Arc<Url>,
}

impl Processor {
    /// A client of the processor at `base` (http or https). One request takes at most `deadline`, its answer included.
    pub fn new(base: Url, secret_key: &SecretString, deadline: Duration) -> Result<Self, ProcessorError> {
        // The process has one; whoever came first has installed the same.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let bearer: SecretString = format!("Bearer {}", secret_key.expose_secret()).into();
        let mut authorization =
            HeaderValue::from_str(bearer.expose_secret()).map_err(|_| ProcessorError::SecretKey)?;
        authorization.set_sensitive(true);
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        let client = Client::builder()
            .default_headers(HeaderMap::from_iter([(AUTHORIZATION, authorization), (CONTENT_TYPE, form)]))
            .user_agent(concat!("idem-payments/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            // Our configuration stands in our own variables, not in HTTP_PROXY.
            .no_proxy()
            .connect_timeout(CONNECT_DEADLINE)
            .timeout(deadline)
            .pool_idle_timeout(IDLE_CONNECTION);
        // Plain HTTP needs no root certificates, and a small image has none.
        let client = if base.scheme() == "http" { client.tls_certs_only([]) } else { client };
        Ok(Self { client: client.build()?, base: Arc::new(base) })
    }

    /// Asks once. An intent that waits for a customer who is not there is cancelled, and counts as declined then.
    pub async fn ask(&self, request: &Request) -> Outcome {
        let path = match request.asked {
            Asked::Charge(_) => ["v1", "payment_intents"],
            Asked::Refund(_) => ["v1", "refunds"],
        };
        let answer = self.post(&path, &request.key, request.body.clone()).await;
        match classify(request.asked, &answer) {
            Outcome::RequiresAction { intent } => self.abandon(request, &intent).await,
            outcome => outcome,
        }
    }

    /// Cancelled at the processor, an intent can never be captured any more: only then it may be called declined.
    async fn abandon(&self, request: &Request, intent: &str) -> Outcome {
        let path = ["v1", "payment_intents", intent, "cancel"];
        let answer = self.post(&path, &format!("{}-cancel", request.key), Vec::new()).await;
        match classify(request.asked, &answer) {
            Outcome::Declined { .. } => Outcome::Declined { code: "authentication_required".to_owned() },
            // It was confirmed by somebody in the meantime.
            Outcome::Succeeded(receipt) => Outcome::Succeeded(receipt),
            Outcome::NotSent
            | Outcome::NotExecuted { .. }
            | Outcome::Rejected { .. }
            | Outcome::Processing
            | Outcome::RequiresAction { .. }
            | Outcome::Unknown(_) => Outcome::RequiresAction { intent: intent.to_owned() },
        }
    }

    async fn post(&self, path: &[&str], key: &str, body: Vec<u8>) -> Answer {
        let request = self.client.post(self.url(path)).header("Idempotency-Key", key).body(body);
        exchange(request).await.unwrap_or_else(|error| {
            // Without its URL, which may be the place of a mistake but is never its cause.
            let error = error.without_url();
            tracing::warn!(%error, sent = !error.is_connect(), "the processor did not answer");
            if error.is_connect() { Answer::NotSent } else { Answer::Lost }
        })
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
    crashpoint::reach!("p2");
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
    crashpoint::reach!("p3");
    Ok(Answer::Reply { status, replayed, retry_after, body })
}

fn is_replayed(response: &Response) -> bool {
    response.headers().get("idempotent-replayed").is_some_and(|value| value == "true")
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}
