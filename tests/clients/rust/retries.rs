//! The retry policy: while a response asks for it, or is lost, send the same bytes again.

use std::time::Duration;

use http::Extensions;
use http::header::RETRY_AFTER;
use reqwest::{Request, Response};
use reqwest_middleware::{Middleware, Next, Result};

const ATTEMPTS: u32 = 8;

pub struct Retries;

#[async_trait::async_trait]
impl Middleware for Retries {
    /// 409, 429 and 503 with Retry-After: wait, and send the same bytes. Every other response, a 409 without it too: stop.
    async fn handle(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> Result<Response> {
        for attempt in 1.. {
            let Some(copy) = request.try_clone() else { break };
            let received = whole(next.clone().run(copy, extensions).await).await;
            let seconds = match &received {
                Ok(response) if [409, 429, 503].contains(&response.status().as_u16()) => response
                    .headers()
                    .get(RETRY_AFTER)
                    .and_then(|seconds| seconds.to_str().ok()?.parse().ok()),
                Ok(_) => None,
                // Nobody knows whether the request took effect. Its key makes a retry safe.
                Err(_) => Some(0),
            };
            let Some(seconds) = seconds.filter(|_| attempt < ATTEMPTS) else { return received };
            let pause = Duration::from_millis(100 << attempt).max(Duration::from_secs(seconds));
            tokio::time::sleep(pause).await;
        }
        // A body that is a stream cannot be sent twice.
        next.run(request, extensions).await
    }
}

/// A response with its whole body, so that a body that breaks off is a lost response.
async fn whole(received: Result<Response>) -> Result<Response> {
    let received = received?;
    let mut response = http::Response::new(());
    *response.status_mut() = received.status();
    *response.headers_mut() = received.headers().clone();
    let body = received.bytes().await?;
    Ok(response.map(|()| body).into())
}
