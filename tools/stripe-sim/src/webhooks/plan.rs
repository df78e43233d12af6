//! Who is told of which event, and when: at once and once, unless a fault wants it otherwise.

use std::time::Duration;

use crate::faults::{Concern, Kind, Scope};
use crate::processor::Processor;
use crate::protocol::Failure;
use crate::store::events::Event;
use crate::store::{deliveries, events};

/// Events planned in one transaction.
const BATCH: i64 = 100;

/// Plans the deliveries of new events. `false` if there were none.
pub(super) async fn plan(processor: &Processor) -> Result<bool, Failure> {
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

/// After how long the event is told; several times, if it is told several times.
fn delays(processor: &Processor, event: &Event) -> Vec<Duration> {
    let concern = Concern::of_metadata(&event.object["metadata"]);
    let Some(bite) = processor.faults.meet(Scope::Webhook, &event.kind, &concern) else {
        return vec![Duration::ZERO];
    };
    match bite.kind {
        Kind::DuplicateWebhook => vec![Duration::ZERO, Duration::ZERO],
        Kind::LateWebhook => vec![bite.delay],
        // Each a different part of the delay: what came later overtakes what came before.
        _ => vec![bite.delay.mul_f64(bite.spread)],
    }
}
