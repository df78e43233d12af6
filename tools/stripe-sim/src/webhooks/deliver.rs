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
use crate::store::deliveries::{self, Due};

/// The most deliveries of one pass.
const BATCH: i64 = 32;
/// There is no further attempt after this many. Stripe gives up after three days.
const MOST_ATTEMPTS: i32 = 16;
/// How often the pause doubles.
const DOUBLINGS: u32 = 6;

/// Makes the attempts that are due. Returns false if there were none.
pub(super) async fn deliver(processor: &Processor, client: &Client) -> Result<bool, Error> {
    let due = deliveries::due(&mut processor.database.connection().await?, BATCH).await?;
    let any = !due.is_empty();
    let mut by_object: BTreeMap<String, Vec<Due>> = BTreeMap::new();
    for delivery in due {
        let object = delivery.event.object["id"].as_str().unwrap_or_default().to_owned();
        by_object.entry(object).or_default().push(delivery);
    }
    let attempts = by_object.into_values().map(async |deliveries| {
        for delivery in deliveries {
            attempt(processor, client, delivery).await?;
        }
        Ok::<(), Error>(())
    });
    join_all(attempts).await.into_iter().collect::<Result<(), Error>>()?;
    Ok(any)
}

async fn attempt(processor: &Processor, client: &Client, delivery: Due) -> Result<(), Error> {
    // An endpoint that is no longer there gets nothing.
    let Some(secret) = processor.endpoints.secret(&delivery.url) else {
        return Ok(
            deliveries::postpone(&mut processor.database.connection().await?, delivery.id, None).await?
        );
    };
    let mut event = objects::event(&delivery.event);
    event["pending_webhooks"] = json!(1);
    let body = event.to_string();
    let request = client
        .post(&delivery.url)
        .header("Content-Type", "application/json; charset=utf-8")
        .header("User-Agent", "Stripe/1.0 (+https://stripe.com/docs/webhooks)")
        .header("Stripe-Signature", signature::header(&secret, delivery.now, &body))
        .body(body);
    let (event, kind, attempt) = (&delivery.event.id, &delivery.event.kind, delivery.attempt);
    let response = request.send().await;
    let mut connection = processor.database.connection().await?;
    match response {
        Ok(response) if response.status().is_success() => {
            tracing::debug!(event, kind, attempt, "delivered");
            deliveries::delivered(&mut connection, delivery.id).await?;
        }
        Ok(response) => {
            tracing::info!(
                event,
                kind,
                attempt,
                status = response.status().as_u16(),
                "the endpoint refused the event"
            );
            deliveries::postpone(&mut connection, delivery.id, pause(processor, attempt)).await?;
        }
        Err(error) => {
            let error = error.without_url();
            tracing::info!(event, kind, attempt, %error, "not delivered");
            deliveries::postpone(&mut connection, delivery.id, pause(processor, attempt)).await?;
        }
    }
    Ok(())
}

/// The pause before the next attempt. It doubles up to a limit; `None` after the last attempt.
fn pause(processor: &Processor, attempt: i32) -> Option<Duration> {
    let doublings = u32::try_from(attempt - 1).unwrap_or_default().min(DOUBLINGS);
    (attempt < MOST_ATTEMPTS).then(|| processor.timing.webhook_retry * 2_u32.pow(doublings))
}
