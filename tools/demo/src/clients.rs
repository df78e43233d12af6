//! Many clients that send at the same moment, and wait as long as Retry-After says.

use futures_util::future::join_all;
use harness::{Response, Result};
use tokio::sync::Barrier;

/// How often a client whose key is in progress sends again.
const MOST_RETRIES: usize = 20;

/// The response to a client, and the number of earlier responses that said "in progress".
pub(crate) type FinalResponse = (Response, usize);

/// Lets so many clients send at once. Each repeats its request after the given pause while its key is in progress.
pub(crate) async fn concurrently(
    clients: usize,
    send: impl AsyncFn() -> Result<Response>,
) -> Result<Vec<FinalResponse>> {
    let (barrier, send) = (Barrier::new(clients), &send);
    let clients = (0..clients).map(async |_| {
        barrier.wait().await;
        send_until_final(send).await
    });
    join_all(clients).await.into_iter().collect()
}

async fn send_until_final(send: impl AsyncFn() -> Result<Response>) -> Result<FinalResponse> {
    let mut retries = 0;
    loop {
        let response = send().await?;
        match response.retry_after() {
            Some(pause) if response.code() == "idempotency-key-in-progress" && retries < MOST_RETRIES => {
                retries += 1;
                tokio::time::sleep(pause).await;
            }
            _ => return Ok((response, retries)),
        }
    }
}
