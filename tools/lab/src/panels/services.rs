//! Outbox and inbox of each service, from its `/metrics`.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use harness::{Metrics, Part, Result};
use serde::Serialize;

use crate::lab::Lab;
use crate::state::Source;

/// The figures of one service. Counters begin at zero with its process.
#[derive(Debug, Serialize)]
pub(crate) struct ServiceFigures {
    /// Committed events that are not published; read at most every five seconds.
    unpublished: i64,
    /// Messages that the consumer has received from Kafka.
    received: i64,
    /// Those of them that had taken effect before.
    duplicates: i64,
    /// Messages that wait: parked for an operator, or held for an earlier message.
    waiting: i64,
}

/// Reads all services at once.
pub(super) async fn read(lab: &Lab) -> BTreeMap<&'static str, Source<ServiceFigures>> {
    let looks =
        Part::SERVICES.map(async |part| (part.name(), Source::look(part.name(), figures(lab, part)).await));
    join_all(looks).await.into_iter().collect()
}

async fn figures(lab: &Lab, part: Part) -> Result<ServiceFigures> {
    let metrics = Metrics::read(lab.api.client(), &[lab.admin(part.instance(1))]).await?;
    Ok(ServiceFigures {
        unpublished: metrics.count("outbox_unpublished_events")?,
        received: metrics.count("inbox_messages_total{")?,
        duplicates: metrics.count("inbox_messages_total{outcome=\"duplicate\"}")?,
        waiting: metrics.count("inbox_waiting_messages{")?,
    })
}
