//! Carries deliveries over. What an endpoint has not taken is tried again, ever more slowly; those of one object go one
//! after the other, in the order in which they are due.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Client;
use serde_json::json;

use super::signature;
use crate::objects;
use crate::processor::Processor;
use crate::protocol::Failure;
use crate::store::deliveries::{self, Claim};

/// Deliveries in one hand.
const BATCH: i64 = 32;
/// After so many deadlines a delivery counts as given up by a process that died. Should it live, the endpoint hears it
/// twice.
const LEASE_IN_DEADLINES: u32 = 3;
/// After so many attempts nobody tries again. The real processor gives up after three days.
const MOST_ATTEMPTS: i32 = 16;
/// The pause doubles so often.
const DOUBLINGS: u32 = 6;

/// Makes the attempts that are due. `false` if there were none.
pub(super) async fn deliver(
    processor: &Processor,
    client: &Client,
    urls: &[String],
) -> Result<bool, Failure> {
    let lease = processor.pace.webhook_deadline * LEASE_IN_DEADLINES;
    let mut tx = processor.database.begin().await?;
    let claims = deliveries::claim(&mut tx, urls, BATCH, lease).await?;
    tx.commit().await?;
    let any = !claims.is_empty();
    let mut by_object: BTreeMap<String, Vec<Claim>> = BTreeMap::new();
    for claim in claims {
        let object = claim.event.object["id"].as_str().unwrap_or_default().to_owned();
        by_object.entry(object).or_default().push(claim);
    }
    let told = by_object.into_values().map(async |claims| {
        for claim in claims {
            attempt(processor, client, claim).await?;
        }
        Ok::<(), Failure>(())
    });
    join_all(told).await.into_iter().collect::<Result<(), Failure>>()?;
    Ok(any)
}

async fn attempt(processor: &Processor, client: &Client, claim: Claim) -> Result<(), Failure> {
    let Some(secrets) = processor.endpoints.secrets(&claim.url) else { return Ok(()) };
    let mut event = objects::event(&claim.event);
    event["pending_webhooks"] = json!(1);
    let body = event.to_string();
    let request = client
        .post(&claim.url)
        .header("Content-Type", "application/json; charset=utf-8")
        .header("User-Agent", "Stripe/1.0 (+https://stripe.com/docs/webhooks)")
        .header("Stripe-Signature", signature::header(&secrets, claim.now, &body))
        .body(body);
    let (event, kind, attempt) = (&claim.event.id, &claim.event.kind, claim.attempt);
    let answer = request.send().await;
    let mut connection = processor.database.connection().await?;
    match answer {
        Ok(answer) if answer.status().is_success() => {
            tracing::debug!(event, kind, attempt, "delivered");
            deliveries::delivered(&mut connection, claim.id).await?;
        }
        Ok(answer) => {
            tracing::info!(event, kind, attempt, status = answer.status().as_u16(), "not taken");
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

/// Twice as long each time, up to a limit; `None` once it has been tried often enough.
fn pause(processor: &Processor, attempt: i32) -> Option<Duration> {
    let doublings = u32::try_from(attempt - 1).unwrap_or_default().min(DOUBLINGS);
    (attempt < MOST_ATTEMPTS).then(|| processor.pace.webhook_retry * 2_u32.pow(doublings))
}
