//! The retry policy: send the same bytes again while a response is lost, asks for it, or comes from a gateway that failed.

use std::time::Duration;

use http::Extensions;
use http::header::RETRY_AFTER;
use reqwest::{Request, Response};
use reqwest_middleware::{Middleware, Next, Result};
use serde_json::Value;

/// So many attempts, with some 15 seconds of pauses if each is lost.
pub struct Retries(pub u32);

impl Default for Retries {
    fn default() -> Self {
        Self(8)
    }
}

#[async_trait::async_trait]
impl Middleware for Retries {
    async fn handle(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> Result<Response> {
        for attempt in 1..self.0 {
            let Some(copy) = request.try_clone() else { break };
            let seconds: u64 = match whole(next.clone().run(copy, extensions).await).await {
                Ok(response) if !asks(&response) => return Ok(response.into()),
                Ok(response) => {
                    let seconds = response.headers().get(RETRY_AFTER);
                    seconds.and_then(|seconds| seconds.to_str().ok()?.parse().ok()).unwrap_or_default()
                }
                // Nobody knows whether the request took effect. Its key makes a retry safe.
                Err(_) => 0,
            };
            let pause = Duration::from_millis(100 << attempt).max(Duration::from_secs(seconds));
            tokio::time::sleep(pause.mul_f64(1.0 + fastrand::f64() / 2.0)).await;
        }
        // The last attempt, or a body that is a stream and cannot be sent twice.
        next.run(request, extensions).await
    }
}

/// A problem of the service says whether it is retryable. Any other refusal is a gateway's.
fn asks(response: &http::Response<Vec<u8>>) -> bool {
    let status = response.status().as_u16();
    let problem: Value = serde_json::from_slice(response.body()).unwrap_or_default();
    let gateway = || {
        let asks_later = response.headers().contains_key(RETRY_AFTER);
        status >= 500 || matches!(status, 408 | 425 | 429) || asks_later
    };
    status >= 400 && problem["retryable"].as_bool().unwrap_or_else(gateway)
}

/// A response with its whole body, so that a body that breaks off is a lost response.
pub(crate) async fn whole(received: Result<Response>) -> Result<http::Response<Vec<u8>>> {
    let received = received?;
    let mut response = http::Response::new(());
    *response.status_mut() = received.status();
    *response.headers_mut() = received.headers().clone();
    let body = received.bytes().await?.to_vec();
    Ok(response.map(|()| body))
}
