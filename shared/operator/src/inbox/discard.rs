//! `inbox discard`: removes a parked message without effect, and applies the messages held behind it.

use std::error::Error;

use ::inbox::{Consumer, DiscardEffects, MessageError, MessageSummary};
use clap::Args;
use database::Tx;
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use super::retry_on_contention;
use crate::{Change, CommandOutput, Installation, Outcome};

/// The arguments.
#[derive(Debug, Args)]
pub struct Discard {
    /// The parked message
    message_id: Uuid,
    /// Its sequence in the aggregate's history, if its headers name none
    #[arg(long, value_name = "NUMBER")]
    sequence: Option<i64>,
    #[command(flatten)]
    change: Change,
}

#[derive(Default, Serialize)]
struct Report {
    message_id: Uuid,
    /// Whether the message is discarded.
    discarded: bool,
    /// Why the message is not discarded.
    refused: Option<String>,
    /// The messages held behind it that took effect.
    applied: Vec<MessageSummary>,
    /// The message held behind it that failed and is parked now.
    parked: Option<MessageError>,
    /// Warnings about orders, reservations and payments that stay open, in sentences.
    warnings: Vec<String>,
}

impl Discard {
    pub(super) async fn run(self, context: &Installation) -> Result<CommandOutput, Box<dyn Error>> {
        let consumer = context.consumer()?;
        let discard =
            async || self.change.run(&context.database, async |tx| self.discard(tx, consumer).await).await;
        let discarded = retry_on_contention(discard).await;
        Ok(discarded.unwrap_or_else(|failed| self.refused(failed.error.to_string()).output(&self.change)))
    }

    async fn discard(&self, tx: &mut Tx, consumer: &Consumer) -> Result<Outcome<Report>, MessageError> {
        let id = self.message_id;
        let DiscardEffects { tenant, message, applied, parked, warnings } =
            match ::inbox::discard(tx, consumer, id, self.sequence).await? {
                ::inbox::Discard::Done(discarded) => discarded,
                ::inbox::Discard::Refused(why) => return Ok(self.refused(why)),
                ::inbox::Discard::NotWaiting => {
                    let sentence = format!("message {id} does not wait: nothing to discard");
                    return Ok(Outcome::unchanged(self.report(), sentence));
                }
            };
        let fact = self.change.fact(tenant.as_ref(), "inbox.discard", "message", id);
        let fact = fact.with(message).with(json!({ "applied": applied, "warnings": warnings }));
        let mut sentence = format!("message {id} is discarded");
        if let Some(MessageError { message: Some(message), error }) = &parked {
            sentence = format!("{sentence}; behind it, {message} failed and is parked now: {error}");
        }
        Ok(Outcome::changed(
            Report { discarded: true, applied, parked, warnings, ..self.report() },
            sentence,
            fact,
        ))
    }

    fn report(&self) -> Report {
        Report { message_id: self.message_id, ..Report::default() }
    }

    fn refused(&self, why: String) -> Outcome<Report> {
        let sentence = format!("message {} is not discarded: {why}", self.message_id);
        Outcome::refused(Report { refused: Some(why), ..self.report() }, sentence)
    }
}
