//! `redrive`: applies parked messages, and the messages held behind them, in order.
//!
//! Each aggregate is one transaction. So a message that asks for a charge never takes effect before the message that
//! cancels it.

use audit::{Fact, Operator};
use clap::Args;
use database::Tx;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::json;
use uuid::Uuid;

use super::history::History;
use super::report::{MessageError, MessageSummary, RedriveReport, RedrivenAggregate};
use super::{CommandOutput, OperatorContext, OperatorError, retry_on_contention};
use crate::HandlerError;
use crate::message::{AggregateRef, UNKNOWN_SEQUENCE};
use crate::parking::{WaitingRow, inbox_parked};
use crate::sequence::SequencePosition;

/// The arguments.
#[derive(Debug, Args)]
pub struct Redrive {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    operator: Operator,
    /// Try it, print the result, and undo it
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
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

impl Selection {
    /// The selected aggregates, sorted.
    async fn aggregates(&self, context: &OperatorContext) -> Result<Vec<AggregateRef>, OperatorError> {
        let mut waiting = inbox_parked::table
            .filter(inbox_parked::consumer.eq(context.consumer.name()))
            .select((inbox_parked::source, inbox_parked::aggregate_id))
            .distinct()
            .order((inbox_parked::source, inbox_parked::aggregate_id))
            .into_boxed();
        if let Some(id) = self.message_id {
            waiting = waiting.filter(inbox_parked::message_id.eq(id));
        }
        if let Some(aggregate) = self.aggregate {
            waiting = waiting.filter(inbox_parked::aggregate_id.eq(aggregate));
        }
        let found: Vec<(String, Uuid)> = waiting.load(&mut context.database.connection().await?).await?;
        Ok(found.into_iter().map(|(source, id)| AggregateRef { source, id }).collect())
    }
}

impl Redrive {
    pub(super) async fn run(self, context: &OperatorContext) -> Result<CommandOutput, OperatorError> {
        let mut report = RedriveReport { dry_run: self.dry_run, aggregates: Vec::new() };
        for aggregate in self.selection.aggregates(context).await? {
            let redriven = retry_on_contention(async || self.redrive(context, &aggregate).await).await;
            let redriven = redriven.unwrap_or_else(|error| RedrivenAggregate::failed(&aggregate, error));
            if !redriven.is_empty() {
                report.aggregates.push(redriven);
            }
        }
        Ok(CommandOutput::new(self.json, report.is_done(), &report, RedriveReport::text))
    }

    /// Applies every message of the aggregate that can be applied; after an error, none.
    async fn redrive(
        &self,
        context: &OperatorContext,
        aggregate: &AggregateRef,
    ) -> Result<RedrivenAggregate, MessageError> {
        let mut tx = context.database.begin().await?;
        let mut history = History::open(&mut tx, &context.consumer, aggregate.clone()).await?;
        let redriven = apply_all(&mut tx, &mut history).await?;
        if !history.is_changed {
            tx.rollback().await?;
            return Ok(redriven);
        }
        let tenant = history.waiting.iter().find_map(|message| message.row.tenant());
        history.store(&mut tx).await?;
        let fact =
            Fact::by_operator(&self.operator, tenant.as_ref(), "inbox.redrive", "aggregate", aggregate.id);
        audit::record(
            &mut tx,
            fact.with(json!({
                "consumer": context.consumer.name(),
                "source": aggregate.source,
                "applied": redriven.applied,
                "superseded": redriven.superseded,
                "left": redriven.left,
            })),
        );
        if self.dry_run {
            // Written before it is undone, because a constraint may refuse it.
            tx.flush().await?;
            tx.rollback().await?;
        } else {
            tx.commit().await?;
        }
        Ok(redriven)
    }
}

async fn apply_all(tx: &mut Tx, history: &mut History<'_>) -> Result<RedrivenAggregate, MessageError> {
    let mut redriven = RedrivenAggregate::of(&history.aggregate);
    for message in history.waiting.clone() {
        let row = &message.row;
        let summary = MessageSummary::of(row);
        if row.sequence == UNKNOWN_SEQUENCE {
            redriven.leave(row, "its headers name no sequence; discard it");
            continue;
        }
        match history.position(row) {
            SequencePosition::Next => {
                history.apply(tx, &message).await.map_err(|error| summary.clone().with(error))?;
                redriven.applied.push(summary);
            }
            SequencePosition::Duplicate if row.is_parked() => {
                redriven.leave(row, "another message has its number; compare both, then discard it");
            }
            SequencePosition::Duplicate => {
                if let Some(error) = history.park_second(tx, row).await? {
                    redriven.left.push(summary.with(error));
                } else {
                    history.remove(row);
                    redriven.superseded.push(summary);
                }
            }
            SequencePosition::Later => redriven.leave(row, &missing(history)),
        }
    }
    Ok(redriven)
}

/// Names the message that is missing before the waiting ones.
pub(super) fn missing(history: &History<'_>) -> String {
    format!("number {} of its aggregate has not arrived", history.next())
}

impl RedrivenAggregate {
    /// Reports a parked message that stays parked. A held message needs no report: it waits for the missing one.
    fn leave(&mut self, row: &WaitingRow, reason: &str) {
        if row.is_parked() {
            self.left.push(MessageSummary::of(row).with(HandlerError::Refused(reason.to_owned())));
        }
    }
}
