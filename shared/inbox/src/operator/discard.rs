//! `discard`: removes a parked message without effect, and applies the messages held behind it.
//!
//! The output warns of orders, reservations and payments that stay open because of it.

use audit::{Fact, Operator};
use clap::Args;
use database::Tx;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use super::history::History;
use super::redrive::missing;
use super::report::{MessageError, MessageSummary};
use super::table::printable;
use super::{CommandOutput, OperatorContext, OperatorError, retry_on_contention};
use crate::consumer::DiscardedMessage;
use crate::message::{AggregateRef, InboxEntry, UNKNOWN_SEQUENCE};
use crate::parking::text::sha256;
use crate::parking::{WaitingMessage, WaitingRow, inbox_parked};
use crate::sequence::SequencePosition;
use crate::{deduplication, parking};

/// The arguments.
#[derive(Debug, Args)]
pub struct Discard {
    /// The parked message
    message_id: Uuid,
    /// Its sequence in the aggregate's history, if its headers name none
    #[arg(long, value_name = "NUMBER")]
    sequence: Option<i64>,
    #[command(flatten)]
    operator: Operator,
    /// Try it, print the result, and undo it
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The result.
#[derive(Serialize)]
struct Report {
    dry_run: bool,
    message_id: Uuid,
    /// Whether the message is discarded.
    discarded: bool,
    /// Why the message is not discarded.
    refused: Option<String>,
    /// The messages held behind it that took effect.
    applied: Vec<MessageSummary>,
    /// The message held behind it that failed and is parked now.
    parked: Option<MessageError>,
    /// What stays open, in sentences.
    warnings: Vec<String>,
}

impl Discard {
    pub(super) async fn run(self, context: &OperatorContext) -> Result<CommandOutput, OperatorError> {
        let report = match self.aggregate(context).await? {
            Some(aggregate) => {
                let discarded = retry_on_contention(async || self.discard(context, &aggregate).await).await;
                discarded.unwrap_or_else(|failed| self.refused(failed.error.to_string()))
            }
            None => self.report(),
        };
        Ok(CommandOutput::new(self.json, report.refused.is_none(), &report, Report::text))
    }

    /// The aggregate of the message, if the message waits.
    async fn aggregate(&self, context: &OperatorContext) -> Result<Option<AggregateRef>, OperatorError> {
        let row = inbox_parked::table.find((context.consumer.name(), self.message_id));
        let found: Option<WaitingRow> = row
            .select(WaitingRow::as_select())
            .first(&mut context.database.connection().await?)
            .await
            .optional()?;
        Ok(found.map(|row| row.aggregate()))
    }

    async fn discard(
        &self,
        context: &OperatorContext,
        aggregate: &AggregateRef,
    ) -> Result<Report, MessageError> {
        let mut tx = context.database.begin().await?;
        let mut history = History::open(&mut tx, &context.consumer, aggregate.clone()).await?;
        let found = history.waiting.iter().find(|message| message.row.message_id == self.message_id).cloned();
        let Some(discarded) = found else {
            tx.rollback().await?;
            return Ok(self.report());
        };
        let mut report = match self.skip(&mut tx, &mut history, &discarded.row).await? {
            Ok(warning) => {
                Report { discarded: true, warnings: warning.into_iter().collect(), ..self.report() }
            }
            Err(refused) => {
                tx.rollback().await?;
                return Ok(self.refused(refused));
            }
        };
        apply_held(&mut tx, &mut history, context.consumer.name(), &mut report).await?;
        history.store(&mut tx).await?;
        let warnings = context.consumer.warnings(&mut tx, &DiscardedMessage::of(&discarded.row)).await?;
        report.warnings.extend(warnings);
        self.record(&mut tx, context, &discarded, &report);
        if self.dry_run {
            tx.flush().await?;
            tx.rollback().await?;
        } else {
            tx.commit().await?;
        }
        Ok(report)
    }

    /// Advances the history past the message and returns a warning, if there is one; or the reason why it refuses to.
    async fn skip(
        &self,
        tx: &mut Tx,
        history: &mut History<'_>,
        row: &WaitingRow,
    ) -> Result<Result<Option<String>, String>, MessageError> {
        let position = history.position(row);
        if !row.is_parked() && position != SequencePosition::Duplicate {
            return Ok(Err(format!("it is held, not parked: {}", missing(history))));
        }
        let mut warning = None;
        match (row.sequence, self.sequence) {
            (UNKNOWN_SEQUENCE, None) => {
                warning = Some(format!(
                    "the headers of the message name no sequence, so the history does not advance: if it was number {next}, \
                     later messages are held for ever; then discard it with --sequence {next}",
                    next = history.next()
                ));
            }
            (UNKNOWN_SEQUENCE, Some(sequence)) if sequence == history.next() => {
                let entry = InboxEntry { sequence, ..row.entry() };
                deduplication::replace(tx, history.consumer(), &entry).await?;
                history.skip_to(sequence);
            }
            (UNKNOWN_SEQUENCE, Some(_)) => {
                return Ok(Err(format!("the next number of its aggregate is {}", history.next())));
            }
            (sequence, Some(_)) => {
                return Ok(Err(format!("the headers of the message name number {sequence}")));
            }
            (_, None) if position == SequencePosition::Later => return Ok(Err(missing(history))),
            (sequence, None) if position == SequencePosition::Next => history.skip_to(sequence),
            // Another message has this sequence. This one keeps its id, without a place in the history.
            (_, None) => {
                let entry = InboxEntry { sequence: UNKNOWN_SEQUENCE, ..row.entry() };
                deduplication::replace(tx, history.consumer(), &entry).await?;
            }
        }
        history.remove(row);
        Ok(Ok(warning))
    }

    fn record(&self, tx: &mut Tx, context: &OperatorContext, discarded: &WaitingMessage, report: &Report) {
        let WaitingMessage { row, payload } = discarded;
        let (aggregate, origin, tenant) = (row.aggregate(), row.origin(), row.tenant());
        let fact =
            Fact::by_operator(&self.operator, tenant.as_ref(), "inbox.discard", "message", self.message_id);
        let details = json!({
            "consumer": context.consumer.name(),
            "source": aggregate.source,
            "aggregate_id": aggregate.id,
            "sequence": row.sequence,
            "type": row.kind(),
            "topic": origin.topic,
            "partition": origin.partition,
            "offset": origin.offset,
            "error": row.error,
            "payload_sha256": sha256(payload),
            "payload_bytes": payload.len(),
            "applied": report.applied,
            "warnings": report.warnings,
        });
        audit::record(tx, fact.with(details));
    }

    fn report(&self) -> Report {
        Report {
            dry_run: self.dry_run,
            message_id: self.message_id,
            discarded: false,
            refused: None,
            applied: Vec::new(),
            parked: None,
            warnings: Vec::new(),
        }
    }

    fn refused(&self, reason: String) -> Report {
        Report { refused: Some(reason), ..self.report() }
    }
}

/// Applies the messages held behind the discarded one, up to the first that fails. That one is parked.
async fn apply_held(
    tx: &mut Tx,
    history: &mut History<'_>,
    consumer: &'static str,
    report: &mut Report,
) -> Result<(), MessageError> {
    let held: Vec<WaitingMessage> =
        history.waiting.iter().filter(|message| !message.row.is_parked()).cloned().collect();
    for message in held {
        let entry = message.row.entry();
        let summary = MessageSummary::of(&message.row);
        match history.position(&message.row) {
            SequencePosition::Next => {}
            SequencePosition::Later => continue,
            SequencePosition::Duplicate => {
                if let Some(error) = history.park_second(tx, &message.row).await? {
                    report.warnings.push(format!("{} is parked: {error}", summary.text()));
                }
                continue;
            }
        }
        // If it fails, only its own effects are undone.
        match tx.savepoint(async |tx| history.apply(tx, &message).await).await {
            Ok(()) => report.applied.push(summary),
            Err(error) if error.is_transient() => return Err(error.into()),
            Err(error) => {
                parking::park_held(tx, consumer, &entry, &error).await?;
                report.parked = Some(summary.with(error));
                return Ok(());
            }
        }
    }
    Ok(())
}

impl Report {
    fn text(&self) -> String {
        let id = self.message_id;
        if let Some(refused) = &self.refused {
            return format!("message {id} is not discarded: {}\n", printable(refused));
        }
        if !self.discarded {
            return format!("message {id} does not wait: nothing to discard\n");
        }
        let mut lines = vec![format!("discarded: {id}")];
        lines.extend(
            self.applied.iter().map(|message| format!("  applied, held behind it: {}", message.text())),
        );
        lines.extend(self.parked.iter().map(|failed| format!("  failed, and parked now: {}", failed.text())));
        lines.extend(self.warnings.iter().map(|warning| format!("  warning: {}", printable(warning))));
        if self.dry_run {
            lines.push("this was a dry run: nothing was changed".to_owned());
        }
        lines.join("\n") + "\n"
    }
}
