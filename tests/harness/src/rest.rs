//! Waiting until nothing is in progress.

use std::time::Duration;

use futures_util::future::try_join_all;

use crate::{Books, Kafka, Part, Result, until};

impl Books {
    /// Waits until nothing is in progress: no call to the processor, no webhook of the processor to these URLs, no event to publish
    /// or to consume.
    ///
    /// The ends of the topics are read before and after. Otherwise a message that came meanwhile would be overlooked.
    pub async fn at_rest(&self, kafka: &Kafka, webhook_urls: &[String], limit: Duration) -> Result<()> {
        until("nothing is in progress", limit, "./dev topics, ./dev logs", async || {
            let before = kafka.positions().await?;
            let (lag, calls) = (Kafka::lag(&before), self.calls_due().await?);
            let webhooks = self.webhooks_due(webhook_urls.to_vec()).await?;
            let looks = Part::SERVICES.map(|part| self.backlog(part, ""));
            let waiting: i64 = try_join_all(looks).await?.iter().map(|backlog| backlog.waiting).sum();
            if (lag, calls, webhooks, waiting) != (0, 0, 0, 0) {
                return Ok(Err(format!(
                    "{waiting} events to publish, {lag} messages to consume, {calls} calls to the processor, \
                     {webhooks} webhooks of the processor"
                )));
            }
            let after = kafka.positions().await?;
            Ok(if before == after { Ok(()) } else { Err("new messages".to_owned()) })
        })
        .await
    }
}
