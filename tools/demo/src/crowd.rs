//! Many clients at the same moment, each as patient as a client should be.

use futures_util::future::join_all;
use tokio::sync::Barrier;

use crate::api::Answer;
use crate::trouble::Trouble;

/// How often a client that is told to wait comes back.
const PATIENCE: usize = 20;

/// An answer, and how often its client was told before that its key is in progress.
pub(crate) type Told = (Answer, usize);

/// Sends so many requests at once, numbered from 0. Each is sent again until there is an answer: whoever is told that
/// the key is in progress waits as long as it says.
pub(crate) async fn at_once(
    number: usize,
    send: impl AsyncFn(usize) -> Result<Answer, Trouble>,
) -> Result<Vec<Told>, Trouble> {
    let (gate, send) = (Barrier::new(number), &send);
    let clients = (0..number).map(async |client| {
        gate.wait().await;
        insist(async || send(client).await).await
    });
    join_all(clients).await.into_iter().collect()
}

async fn insist(send: impl AsyncFn() -> Result<Answer, Trouble>) -> Result<Told, Trouble> {
    let mut told = 0;
    loop {
        let answer = send().await?;
        match answer.retry_after() {
            Some(pause) if answer.code() == "idempotency-key-in-progress" && told < PATIENCE => {
                told += 1;
                tokio::time::sleep(pause).await;
            }
            _ => return Ok((answer, told)),
        }
    }
}
