//! `outbox release`: lets the relay publish the events that Kafka has refused, and the events behind them.

use std::collections::BTreeSet;
use std::error::Error;

use clap::Args;
use database::Tx;
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use crate::{Change, CommandOutput, Installation, Outcome};

/// The arguments.
#[derive(Debug, Args)]
pub struct Release {
    /// Release the events of this aggregate only
    #[arg(long, value_name = "ID")]
    aggregate: Option<Uuid>,
    #[command(flatten)]
    change: Change,
}

#[derive(Serialize)]
struct Report {
    messages: usize,
    aggregates: usize,
}

impl Release {
    pub(super) async fn run(self, context: &Installation) -> Result<CommandOutput, Box<dyn Error>> {
        Ok(self
            .change
            .run::<_, database::Error>(&context.database, async |tx| self.release(tx).await)
            .await?)
    }

    async fn release(&self, tx: &mut Tx) -> database::Result<Outcome<Report>> {
        let released = ::outbox::release(tx, self.aggregate).await?;
        let (messages, aggregates) = (released.len(), released.iter().collect::<BTreeSet<_>>().len());
        let report = Report { messages, aggregates };
        if released.is_empty() {
            return Ok(Outcome::unchanged(report, "no message is blocked"));
        }
        let subject = self.aggregate.map_or_else(|| "all".to_owned(), |aggregate| aggregate.to_string());
        let fact = self.change.fact(None, "outbox.release", "outbox", subject).with(json!(report));
        let sentence = format!(
            "{messages} messages of {aggregates} aggregates are released; the relay publishes them now (see outbox status)"
        );
        Ok(Outcome::changed(report, sentence, fact))
    }
}
