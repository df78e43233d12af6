//! `inbox redrive`: applies parked messages, and the messages held behind them. Each aggregate is one transaction.

use std::error::Error;

use ::inbox::{AggregateRef, Consumer, MessageError, Redriven, Waiting, waiting_aggregates};
use clap::Args;
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use super::retry_on_contention;
use crate::{Change, CommandOutput, Installation};

/// The arguments.
#[derive(Debug, Args)]
pub struct Redrive {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    change: Change,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Selection {
    /// The aggregate of this waiting message
    message_id: Option<Uuid>,
    /// This aggregate
    #[arg(long, value_name = "UUID")]
    aggregate: Option<Uuid>,
    /// Every aggregate with a waiting message
    #[arg(long)]
    all: bool,
}

#[derive(Serialize)]
struct Report {
    aggregates: Vec<Redriven>,
}

impl Selection {
    fn which(&self) -> Waiting {
        match (self.message_id, self.aggregate) {
            (Some(message), _) => Waiting::Message(message),
            (_, Some(aggregate)) => Waiting::Aggregate(aggregate),
            (None, None) => Waiting::All,
        }
    }
}

impl Redrive {
    pub(super) async fn run(self, context: &Installation) -> Result<CommandOutput, Box<dyn Error>> {
        let consumer = context.consumer()?;
        let mut connection = context.database.connection().await?;
        let found = waiting_aggregates(&mut connection, consumer, self.selection.which()).await?;
        drop(connection);
        let mut aggregates = Vec::new();
        for aggregate in found {
            let redriven =
                retry_on_contention(async || self.redrive(context, consumer, &aggregate).await).await;
            aggregates.push(redriven.unwrap_or_else(|error| Redriven::failed(&aggregate, error)));
        }
        aggregates.retain(|redriven| !redriven.is_empty());
        let is_done = aggregates.iter().all(|redriven| redriven.failed.is_none() && redriven.left.is_empty());
        let nothing = "no such message is parked: nothing to redrive";
        let sentence = if aggregates.is_empty() { nothing } else { "" };
        Ok(self.change.output(is_done, sentence, &Report { aggregates }))
    }

    /// Applies every message of the aggregate that can be applied; after an error, none.
    async fn redrive(
        &self,
        context: &Installation,
        consumer: &Consumer,
        aggregate: &AggregateRef,
    ) -> Result<Redriven, MessageError> {
        let mut tx = context.database.begin().await?;
        let redriven = ::inbox::redrive(&mut tx, consumer, aggregate).await?;
        if !redriven.is_changed {
            tx.rollback().await?;
            return Ok(redriven);
        }
        let fact = self.change.fact(redriven.tenant.as_ref(), "inbox.redrive", "aggregate", aggregate.id);
        let details = json!({
            "consumer": consumer.name(),
            "source": aggregate.source,
            "applied": redriven.applied,
            "superseded": redriven.superseded,
            "left": redriven.left,
        });
        audit::record(&mut tx, fact.with(details));
        self.change.end(tx).await?;
        Ok(redriven)
    }
}
