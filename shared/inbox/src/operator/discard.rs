//! `discard`: the message will never take effect. Its aggregate goes on without it, and whoever decides this hears what
//! stays open because of it.

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
use super::report::{Failed, Step};
use super::table::shown;
use super::{CommandOutput, OperatorContext, OperatorError, patient};
use crate::bytes::sha256;
use crate::consumer::DiscardedMessage;
use crate::incoming::{Entry, Line, UNKNOWN};
use crate::park::inbox_parked;
use crate::sequence::Place;
use crate::stored::{About, Stored};
use crate::{ledger, park};

/// The arguments.
#[derive(Debug, Args)]
pub struct Discard {
    /// The parked message
    message_id: Uuid,
    /// Its place in its aggregate's history, if the message itself does not tell
    #[arg(long, value_name = "NUMBER")]
    sequence: Option<i64>,
    #[command(flatten)]
    operator: Operator,
    /// Try it, print what would happen, and undo it
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What became of it.
#[derive(Serialize)]
struct Report {
    dry_run: bool,
    message_id: Uuid,
    /// Whether the message is discarded.
    discarded: bool,
    /// Why not.
    refused: Option<String>,
    /// What was held behind it, and has taken effect.
    applied: Vec<Step>,
    /// What was held behind it, and is parked now.
    parked: Option<Failed>,
    /// What stays open.
    warnings: Vec<String>,
}

impl Discard {
    pub(super) async fn run(self, context: &OperatorContext) -> Result<CommandOutput, OperatorError> {
        let report = match self.line(context).await? {
            Some(line) => {
                let discarded = patient(async || self.discard(context, &line).await).await;
                discarded.unwrap_or_else(|failed| self.refused(failed.failure.to_string()))
            }
            None => self.report(),
        };
        Ok(CommandOutput::new(self.json, report.refused.is_none(), &report, Report::text))
    }

    async fn line(&self, context: &OperatorContext) -> Result<Option<Line>, OperatorError> {
        let row = inbox_parked::table.find((context.consumer.name(), self.message_id));
        let found: Option<About> = row
            .select(About::as_select())
            .first(&mut context.database.connection().await?)
            .await
            .optional()?;
        Ok(found.map(|about| about.line()))
    }

    async fn discard(&self, context: &OperatorContext, line: &Line) -> Result<Report, Failed> {
        let mut tx = context.database.begin().await?;
        let mut history = History::open(&mut tx, &context.consumer, line.clone()).await?;
        let found = history.waiting.iter().find(|stored| stored.about.message_id == self.message_id).cloned();
        let Some(discarded) = found else {
            tx.rollback().await?;
            return Ok(self.report());
        };
        let mut report = match self.skip(&mut tx, &mut history, &discarded.about).await? {
            Ok(warning) => {
                Report { discarded: true, warnings: warning.into_iter().collect(), ..self.report() }
            }
            Err(refused) => {
                tx.rollback().await?;
                return Ok(self.refused(refused));
            }
        };
        go_on(&mut tx, &mut history, context.consumer.name(), &mut report).await?;
        history.store(&mut tx).await?;
        let given_up = DiscardedMessage::of(&discarded.about);
        report.warnings.extend(context.consumer.warnings(&mut tx, &given_up).await?);
        self.record(&mut tx, context, &discarded, &report);
        if self.dry_run {
            tx.flush().await?;
            tx.rollback().await?;
        } else {
            tx.commit().await?;
        }
        Ok(report)
    }

    /// Moves the history past the message; or says why not. There may be something to warn of.
    async fn skip(
        &self,
        tx: &mut Tx,
        history: &mut History<'_>,
        about: &About,
    ) -> Result<Result<Option<String>, String>, Failed> {
        if !about.is_parked() {
            return Ok(Err(format!("it is held, not parked: {}", missing(history))));
        }
        let place = history.place(about);
        let mut warning = None;
        match (about.sequence, self.sequence) {
            (UNKNOWN, None) => {
                warning = Some(format!(
                    "the message does not tell its place in its aggregate's history, so the history does not move: \
                     if it was number {next}, whatever follows is held for ever; discard it with --sequence {next}",
                    next = history.next()
                ));
            }
            (UNKNOWN, Some(sequence)) if sequence == history.next() => {
                let entry = Entry { sequence, ..about.entry() };
                ledger::enter_again(tx, history.consumer(), &entry).await?;
                history.skip_to(sequence);
            }
            (UNKNOWN, Some(_)) => {
                return Ok(Err(format!("the next number of its aggregate is {}", history.next())));
            }
            (sequence, Some(_)) => return Ok(Err(format!("the message says that it is number {sequence}"))),
            (_, None) if place == Place::Later => return Ok(Err(missing(history))),
            (sequence, None) if place == Place::Next => history.skip_to(sequence),
            // Another message has had its place.
            (_, None) => {}
        }
        history.remove(about);
        Ok(Ok(warning))
    }

    fn record(&self, tx: &mut Tx, context: &OperatorContext, discarded: &Stored, report: &Report) {
        let Stored { about, payload } = discarded;
        let (line, origin, tenant) = (about.line(), about.origin(), about.tenant());
        let fact =
            Fact::by_operator(&self.operator, tenant.as_ref(), "inbox.discard", "message", self.message_id);
        let details = json!({
            "consumer": context.consumer.name(),
            "source": line.source,
            "aggregate_id": line.aggregate,
            "sequence": about.sequence,
            "type": about.kind(),
            "topic": origin.topic,
            "partition": origin.partition,
            "offset": origin.offset,
            "error": about.error,
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

    fn refused(&self, why: String) -> Report {
        Report { refused: Some(why), ..self.report() }
    }
}

/// Applies what was held behind the message, as far as it goes. What fails is parked itself, as it would be in its turn.
async fn go_on(
    tx: &mut Tx,
    history: &mut History<'_>,
    consumer: &'static str,
    report: &mut Report,
) -> Result<(), Failed> {
    let held: Vec<Stored> =
        history.waiting.iter().filter(|stored| !stored.about.is_parked()).cloned().collect();
    for stored in held {
        if history.place(&stored.about) != Place::Next {
            continue;
        }
        let entry = stored.about.entry();
        let step = Step::of(&entry, stored.about.kind().as_deref());
        match history.try_apply(tx, &stored).await {
            Ok(()) => report.applied.push(step),
            Err(failure) if failure.is_passing() => return Err(failure.into()),
            Err(failure) => {
                park::park_held(tx, consumer, &entry, &failure).await?;
                report.parked = Some(Failed { message: Some(step), failure });
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
            return format!("message {id} is not discarded: {}\n", shown(refused));
        }
        if !self.discarded {
            return format!("message {id} does not wait: nothing to discard\n");
        }
        let mut lines = vec![format!("discarded: {id}")];
        lines.extend(
            self.applied.iter().map(|step| format!("  applied what was held behind it: {}", step.text())),
        );
        lines.extend(self.parked.iter().map(|failed| format!("  now parked instead: {}", failed.text())));
        lines.extend(self.warnings.iter().map(|warning| format!("  warning: {}", shown(warning))));
        if self.dry_run {
            lines.push("this was a dry run: nothing was changed".to_owned());
        }
        lines.join("\n") + "\n"
    }
}
