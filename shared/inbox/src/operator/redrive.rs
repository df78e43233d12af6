//! `redrive`: applies what was parked, and everything that waits behind it, in order and in one transaction for each
//! aggregate. So a message that asks for money never takes effect ahead of the one that calls it off.

use audit::{Fact, Operator};
use clap::Args;
use database::Tx;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::json;
use uuid::Uuid;

use super::history::History;
use super::report::{Failed, Redriven, Report, Step};
use super::{CommandOutput, OperatorContext, OperatorError, patient};
use crate::HandlerError;
use crate::incoming::{Line, UNKNOWN};
use crate::park::{PARKED, inbox_parked};
use crate::sequence::Place;
use crate::stored::About;

/// The arguments.
#[derive(Debug, Args)]
pub struct Redrive {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    operator: Operator,
    /// Try it, print what would happen, and undo it
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Which {
    /// The aggregate of this message
    message_id: Option<Uuid>,
    /// This aggregate
    #[arg(long, value_name = "UUID")]
    aggregate: Option<Uuid>,
    /// Every aggregate of which a message is parked
    #[arg(long)]
    all: bool,
}

impl Which {
    /// The histories that are meant, in one order for everybody.
    async fn lines(&self, context: &OperatorContext) -> Result<Vec<Line>, OperatorError> {
        let mut parked = inbox_parked::table
            .filter(inbox_parked::consumer.eq(context.consumer.name()))
            .filter(inbox_parked::state.eq(PARKED))
            .select((inbox_parked::source, inbox_parked::aggregate_id))
            .distinct()
            .order((inbox_parked::source, inbox_parked::aggregate_id))
            .into_boxed();
        if let Some(id) = self.message_id {
            parked = parked.filter(inbox_parked::message_id.eq(id));
        }
        if let Some(aggregate) = self.aggregate {
            parked = parked.filter(inbox_parked::aggregate_id.eq(aggregate));
        }
        let lines: Vec<(String, Uuid)> = parked.load(&mut context.database.connection().await?).await?;
        Ok(lines.into_iter().map(|(source, aggregate)| Line { source, aggregate }).collect())
    }
}

impl Redrive {
    pub(super) async fn run(self, context: &OperatorContext) -> Result<CommandOutput, OperatorError> {
        let mut report = Report { dry_run: self.dry_run, aggregates: Vec::new() };
        for line in self.which.lines(context).await? {
            let redriven = patient(async || self.aggregate(context, &line).await).await;
            report.aggregates.push(redriven.unwrap_or_else(|failed| Redriven::failed(&line, failed)));
        }
        Ok(CommandOutput::new(self.json, report.is_done(), &report, Report::text))
    }

    /// All of one aggregate that can be applied, or nothing.
    async fn aggregate(&self, context: &OperatorContext, line: &Line) -> Result<Redriven, Failed> {
        let mut tx = context.database.begin().await?;
        let mut history = History::open(&mut tx, &context.consumer, line.clone()).await?;
        let redriven = apply_all(&mut tx, &mut history).await?;
        if redriven.changed_nothing() {
            tx.rollback().await?;
            return Ok(redriven);
        }
        let tenant = history.waiting.iter().find_map(|stored| stored.about.tenant());
        history.store(&mut tx).await?;
        let subject = ("aggregate", line.aggregate);
        let fact = Fact::by_operator(&self.operator, tenant.as_ref(), "inbox.redrive", subject.0, subject.1);
        audit::record(
            &mut tx,
            fact.with(json!({
                "consumer": context.consumer.name(),
                "source": line.source,
                "applied": redriven.applied,
                "superseded": redriven.superseded,
            })),
        );
        if self.dry_run {
            // Written before it is undone: a constraint may still refuse it.
            tx.flush().await?;
            tx.rollback().await?;
        } else {
            tx.commit().await?;
        }
        Ok(redriven)
    }
}

async fn apply_all(tx: &mut Tx, history: &mut History<'_>) -> Result<Redriven, Failed> {
    let mut redriven = Redriven::of(&history.line);
    let mut prepared = Vec::new();
    for stored in history.waiting.clone() {
        let about = &stored.about;
        let step = Step::of(&about.entry(), about.kind().as_deref());
        if about.sequence == UNKNOWN {
            redriven.leave(about, "nobody can read its place in its aggregate's history; discard it");
            continue;
        }
        match history.place(about) {
            Place::Next => {
                let failed = |failure| Failed { message: Some(step.clone()), failure };
                prepared.push(history.prepare(&stored).map_err(failed)?);
                history.count(about);
                redriven.applied.push(step);
            }
            Place::Duplicate => {
                history.remove(about);
                redriven.superseded.push(step);
            }
            Place::Later => redriven.leave(about, &missing(history)),
        }
    }
    let locked = history.lock(tx, &mut prepared).await;
    locked.map_err(|failure| Failed { message: redriven.applied.as_slice().first().cloned(), failure })?;
    for (step, prepared) in redriven.applied.iter().zip(prepared) {
        let failed = |failure| Failed { message: Some(step.clone()), failure };
        history.run(tx, prepared).await.map_err(failed)?;
    }
    Ok(redriven)
}

/// What keeps the messages behind a gap from being applied.
pub(super) fn missing(history: &History<'_>) -> String {
    format!("number {} of its aggregate has not come", history.next())
}

impl Redriven {
    /// Only what is parked waits for somebody to do something.
    fn leave(&mut self, about: &About, why: &str) {
        if about.is_parked() {
            let failure = HandlerError::Refused(why.to_owned());
            let message = Some(Step::of(&about.entry(), about.kind().as_deref()));
            self.left.push(Failed { message, failure });
        }
    }
}
