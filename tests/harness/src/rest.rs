//! Waiting until nothing is in progress.

use std::time::Duration;

use futures_util::future::try_join_all;

use crate::{Books, Kafka, Part, Result, until};

impl Books {
    /// Waits until nothing is in progress: no event to publish or to consume, and nothing that a service has begun.
    ///
    /// The ends of the topics are read before and after. Otherwise a message that came meanwhile would be overlooked.
    pub async fn at_rest(&self, kafka: &Kafka, limit: Duration) -> Result<()> {
        until("nothing is in progress", limit, "./dev topics, ./dev logs", async || {
            let before = kafka.positions().await?;
            let (lag, begun) = (Kafka::lag(&before), self.in_progress().await?);
            let looks = Part::SERVICES.map(|part| self.backlog(part, ""));
            let waiting: i64 = try_join_all(looks).await?.iter().map(|backlog| backlog.waiting).sum();
            if (lag, waiting) != (0, 0) || !begun.is_empty() {
                let events = [format!("{waiting} events to publish"), format!("{lag} messages to consume")];
                return Ok(Err(events.into_iter().chain(begun).collect::<Vec<_>>().join(", ")));
            }
            let after = kafka.positions().await?;
            Ok(if before == after { Ok(()) } else { Err("new messages".to_owned()) })
        })
        .await
    }
}
