//! Plans the deliveries of an event: one to each endpoint, at once, unless a fault hits the event.

use std::time::Duration;

use chrono::TimeDelta;
use database::{Tx, UnitOfWork};
use serde_json::Value;

use crate::faults::{Kind, Target};
use crate::processor::Processor;
use crate::store::deliveries::NewDelivery;

/// Adds the deliveries of the event to its transaction.
pub(super) async fn plan(
    tx: &mut Tx,
    processor: &Processor,
    event: &str,
    kind: &str,
    object: &Value,
) -> database::Result<()> {
    let urls = processor.endpoints.urls();
    if urls.is_empty() {
        return Ok(());
    }
    let now = tx.now().await?;
    let delays = delays(processor, kind, object);
    for url in &urls {
        for delay in &delays {
            let due_at = now + TimeDelta::from_std(*delay).unwrap_or(TimeDelta::MAX);
            tx.buffer(NewDelivery { event: event.to_owned(), url: url.clone(), due_at });
        }
    }
    Ok(())
}

/// The delay of each delivery of the event.
fn delays(processor: &Processor, kind: &str, object: &Value) -> Vec<Duration> {
    let reference = object["metadata"]["reference"].as_str().unwrap_or_default();
    let Some(fault) = processor.faults.next(Target::Webhook, kind, reference) else {
        return vec![Duration::ZERO];
    };
    match fault.kind {
        Kind::DuplicateWebhook => vec![Duration::ZERO, Duration::ZERO],
        Kind::LateWebhook => vec![fault.delay],
        _ => vec![fault.delay.mul_f64(fault.spread)],
    }
}
