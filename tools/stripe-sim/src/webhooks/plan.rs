//! Plans the deliveries of new events: one to each endpoint, at once, unless a fault hits the event.

use std::time::Duration;

use crate::faults::{Kind, Target};
use crate::processor::Processor;
use crate::protocol::Error;
use crate::store::events::Event;
use crate::store::{deliveries, events};

/// The most events of one transaction.
const BATCH: i64 = 100;

/// Plans the deliveries of new events. Returns false if there were none.
pub(super) async fn plan(processor: &Processor) -> Result<bool, Error> {
    let mut tx = processor.database.begin().await?;
    let unplanned = events::unplanned(&mut tx, BATCH).await?;
    if unplanned.is_empty() {
        tx.rollback().await?;
        return Ok(false);
    }
    let urls = processor.endpoints.urls();
    for event in unplanned.iter().filter(|_| !urls.is_empty()) {
        let delays = delays(processor, event);
        for url in &urls {
            for delay in &delays {
                deliveries::insert(&mut tx, &event.id, url, *delay).await?;
            }
        }
    }
    let ids: Vec<&str> = unplanned.iter().map(|event| event.id.as_str()).collect();
    events::mark_planned(&mut tx, &ids).await?;
    tx.commit().await?;
    Ok(true)
}

/// The delay of each delivery of the event.
fn delays(processor: &Processor, event: &Event) -> Vec<Duration> {
    let reference = event.object["metadata"]["reference"].as_str().unwrap_or_default();
    let Some(fault) = processor.faults.next(Target::Webhook, &event.kind, reference) else {
        return vec![Duration::ZERO];
    };
    match fault.kind {
        Kind::DuplicateWebhook => vec![Duration::ZERO, Duration::ZERO],
        Kind::LateWebhook => vec![fault.delay],
        _ => vec![fault.delay.mul_f64(fault.spread)],
    }
}
