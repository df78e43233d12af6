//! `payments review resolve`: an operator states what happened to the money, and the payment or refund changes accordingly.
//!
//! The resolution is recorded under the same locks and through the same decision tables as a response of the processor. With
//! `--refund`, a refund that was made by hand is read from the processor first, and then recorded.

use clap::Args;
use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser};
use database::Tx;
use envelope::ClientId;
use operators::{Change, CommandOutput, Outcome};
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use super::hand_refund::read_hand_refund;
use crate::context::Context;
use crate::domain::review::Resolution;
use crate::settings::Settings;
use crate::store::payments;
use crate::store::reviews::{self, ReviewRow};
use crate::transitions::{Applied, TransitionError, apply_resolution, attach_refund};

/// The arguments.
#[derive(Debug, Args)]
pub struct Resolve {
    /// The review
    review_id: Uuid,
    /// What happened to the money. For a refund, captured means that it was not refunded
    #[arg(long = "as", value_name = "WHAT", value_parser = resolution())]
    resolution: Resolution,
    /// How you know; the audit stores the text
    #[arg(long, value_name = "TEXT", alias = "reason", value_parser = audit::reason)]
    note: String,
    /// The id of the object that you found at the processor: pi_… of a payment, re_… of a refund
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    processor_id: Option<String>,
    /// A failed refund was made by hand in the processor's dashboard: the id of that refund, re_…. It is read from the
    /// processor and recorded. With --as refunded
    #[arg(long, value_name = "ID", conflicts_with = "processor_id", value_parser = NonEmptyStringValueParser::new())]
    pub(super) refund: Option<String>,
    /// Your name; the audit stores it as @operator:NAME. Default: the user who is logged in
    #[arg(long, value_name = "NAME", alias = "by", env = "USER", hide_env_values = true, value_parser = operators::operator_name)]
    operator: ClientId,
    /// Make the change, print the result, and roll it back
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn resolution() -> impl TypedValueParser<Value = Resolution> {
    PossibleValuesParser::new(["captured", "not-captured", "refunded"]).map(|word| match word.as_str() {
        "captured" => Resolution::Captured,
        "not-captured" => Resolution::NotCaptured,
        _ => Resolution::Refunded,
    })
}

#[derive(Serialize)]
struct Report {
    review_id: Uuid,
    /// The review has this resolution, now or from before.
    resolved: bool,
    /// The review had this resolution before, and nothing changed.
    repeated: bool,
    /// Why the resolution is refused, and what to do instead.
    refused: Option<String>,
    resolution: &'static str,
    /// What the resolution changed; null if the rows agreed with it already.
    applied: Option<Applied>,
}

impl Resolve {
    pub(super) async fn run(self, context: &Context) -> Result<CommandOutput, TransitionError> {
        let mut connection = context.database.connection().await?;
        let found = reviews::find(&mut connection, self.review_id).await?;
        drop(connection);
        let Some(row) = found else { return Ok(not_found(self.review_id)) };
        let (by, note) = (self.operator.clone(), self.note.clone());
        let change = Change::new(by, note, self.dry_run, self.json);
        match self.read_and_resolve(context, &row, &change).await {
            Err(TransitionError::Refused(instead)) => Ok(self.refused(instead).output(&change)),
            Err(TransitionError::Database(database::Error::Constraint { constraint, .. })) => {
                let why = format!("another payment or refund has this processor id ({constraint})");
                Ok(self.refused(why).output(&change))
            }
            resolved => resolved,
        }
    }

    async fn read_and_resolve(
        &self,
        Context { database, settings, .. }: &Context,
        seen: &ReviewRow,
        change: &Change,
    ) -> Result<CommandOutput, TransitionError> {
        // Read the processor's object before the transaction begins, because no lock is held during a request.
        if let Some(object) = &self.refund {
            read_hand_refund(database, settings, seen, self.resolution, object).await?;
        }
        change.run(database, async |tx| self.resolve(tx, settings, seen, change).await).await
    }

    async fn resolve(
        &self,
        tx: &mut Tx,
        settings: &Settings,
        seen: &ReviewRow,
        change: &Change,
    ) -> Result<Outcome<Report>, TransitionError> {
        // Lock the payment first: all transactions take the locks in this order.
        let payment = match seen.payment() {
            Some(payment) => Some(payments::lock(tx, payment).await?),
            None => None,
        };
        let (id, row) = (self.review_id, reviews::lock(tx, self.review_id).await?);
        if let Some(before) = row.resolution {
            return Ok(if before == self.resolution {
                let report = Report { resolved: true, repeated: true, ..self.report() };
                Outcome::unchanged(
                    report,
                    format!("review {id} has this resolution already: nothing changed"),
                )
            } else {
                self.refused(format!("it was resolved before as {before}, and that resolution is final"))
            });
        }
        let resolution = (self.resolution, self.processor_id.as_deref());
        let policy = &settings.policy;
        let applied = match (&self.refund, &payment) {
            (Some(object), Some(payment)) => Some(attach_refund(tx, policy, payment, &row, object).await?),
            _ => apply_resolution(tx, policy, payment.as_ref(), &row, resolution).await?,
        };
        reviews::resolve(tx, &row, self.resolution, &change.operator()).await?;
        let fact = change.fact(row.tenant()?.as_ref(), "review.resolve", "review", id);
        let fact = fact.with(json!({
            "subject": row.subject_name(),
            "subject_id": row.subject_id(),
            "payment": row.payment(),
            "opened_because": row.reason.to_string(),
            "resolution": self.resolution.to_string(),
            "processor_id": self.refund.as_ref().or(self.processor_id.as_ref()),
            "applied": applied,
        }));
        let effect = match &applied {
            Some(Applied { from, to }) => format!("the recorded state was {from} and is {to} now"),
            None => "the recorded state agreed already".to_owned(),
        };
        let sentence = format!("review {id} is resolved as {}: {effect}", self.resolution);
        Ok(Outcome::changed(Report { resolved: true, applied, ..self.report() }, sentence, fact))
    }

    fn report(&self) -> Report {
        Report {
            review_id: self.review_id,
            resolved: false,
            repeated: false,
            refused: None,
            resolution: self.resolution.into(),
            applied: None,
        }
    }

    fn refused(&self, why: impl Into<String>) -> Outcome<Report> {
        let why = why.into();
        let sentence = format!("review {} is not resolved: {why}", self.review_id);
        Outcome::refused(Report { refused: Some(why), ..self.report() }, sentence)
    }
}

/// The result for an id without a review.
pub(super) fn not_found(review: Uuid) -> CommandOutput {
    CommandOutput::not_found(format!("there is no review {review}"))
}
