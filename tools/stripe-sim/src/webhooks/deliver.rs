//! Delivers events. A failed delivery is repeated with a doubling pause. The deliveries of one object are made one after
//! the other, in the order in which they are due.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Client;
use serde_json::json;

use super::signature;
use crate::objects;
use crate::processor::Processor;
use crate::protocol::Error;
use crate::store::deliveries::{self, DeliveryClaim};

/// The most deliveries that one pass claims.
const BATCH: i64 = 32;
/// The lease of a claimed delivery, in deadlines. After the lease another process delivers it, so an endpoint may receive
/// an event twice.
const LEASE_IN_DEADLINES: u32 = 3;
/// There is no further attempt after this many. Stripe gives up after three days.
const MOST_ATTEMPTS: i32 = 16;
/// How often the pause doubles.
const DOUBLINGS: u32 = 6;

/// Makes the attempts that are due. Returns false if there were none.
pub(super) async fn deliver(processor: &Processor, client: &Client, urls: &[String]) -> Result<bool, Error> {
    let lease = processor.timing.webhook_deadline * LEASE_IN_DEADLINES;
    let mut tx = processor.database.begin().await?;
    let claims = deliveries::claim(&mut tx, urls, BATCH, lease).await?;
    tx.commit().await?;
    let any = !claims.is_empty();
    let mut by_object: BTreeMap<String, Vec<DeliveryClaim>> = BTreeMap::new();
    for claim in claims {
        let object = claim.event.object["id"].as_str().unwrap_or_default().to_owned();
        by_object.entry(object).or_default().push(claim);
    }
    let attempts = by_object.into_values().map(async |claims| {
        for claim in claims {
            attempt(processor, client, claim).await?;
        }
        Ok::<(), Error>(())
    });
    join_all(attempts).await.into_iter().collect::<Result<(), Error>>()?;
    Ok(any)
}

async fn attempt(processor: &Processor, client: &Client, claim: DeliveryClaim) -> Result<(), Error> {
    let Some(secret) = processor.endpoints.secret(&claim.url) else { return Ok(()) };
    let mut event = objects::event(&claim.event);
    event["pending_webhooks"] = json!(1);
    let body = event.to_string();
    let request = client
        .post(&claim.url)
        .header("Content-Type", "application/json; charset=utf-8")
        .header("User-Agent", "Stripe/1.0 (+https://stripe.com/docs/webhooks)")
        .header("Stripe-Signature", signature::header(&secret, claim.now, &body))
        .body(body);
    let (event, kind, attempt) = (&claim.event.id, &claim.event.kind, claim.attempt);
    let response = request.send().await;
    let mut connection = processor.database.connection().await?;
    match response {
        Ok(response) if response.status().is_success() => {
            tracing::debug!(event, kind, attempt, "delivered");
            deliveries::delivered(&mut connection, claim.id).await?;
        }
        Ok(response) => {
            tracing::info!(
                event,
                kind,
                attempt,
                status = response.status().as_u16(),
                "the endpoint refused the event"
            );
            deliveries::postpone(&mut connection, claim.id, pause(processor, attempt)).await?;
        }
        Err(error) => {
            let error = error.without_url();
            tracing::info!(event, kind, attempt, %error, "not delivered");
            deliveries::postpone(&mut connection, claim.id, pause(processor, attempt)).await?;
        }
    }
    Ok(())
}

/// The pause before the next attempt. It doubles up to a limit; `None` after the last attempt.
fn pause(processor: &Processor, attempt: i32) -> Option<Duration> {
    let doublings = u32::try_from(attempt - 1).unwrap_or_default().min(DOUBLINGS);
    (attempt < MOST_ATTEMPTS).then(|| processor.timing.webhook_retry * 2_u32.pow(doublings))
}
