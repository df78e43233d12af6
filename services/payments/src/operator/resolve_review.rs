//! `payments review resolve`: an operator states what happened to the money, and the payment or refund changes accordingly.
//!
//! The resolution is recorded under the same locks and through the same decision tables as a response of the processor. With
//! `--refund`, a refund that was made by hand is read from the processor first, and then recorded.

use clap::Args;
use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser};
use database::Tx;
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
use crate::transitions::TransitionError::{self, Refused};
use crate::transitions::{Applied, apply_resolution, attach_refund};

/// The arguments.
#[derive(Debug, Args)]
pub struct Resolve {
    /// The review
    review_id: Uuid,
    /// What happened to the money. For a refund, captured means that it was not refunded
    #[arg(long = "as", value_name = "WHAT", value_parser = resolution())]
    resolution: Resolution,
    /// The id of the object that you found at the processor: pi_… of a payment, re_… of a refund
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    processor_id: Option<String>,
    /// A failed refund was made by hand in the processor's dashboard: the id of that refund, re_…. It is read from the
    /// processor and recorded. With --as refunded
    #[arg(long, value_name = "ID", conflicts_with = "processor_id", value_parser = NonEmptyStringValueParser::new())]
    pub(super) refund: Option<String>,
    #[command(flatten)]
    change: Change,
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
    /// The review had this resolution before, and nothing changed.
    repeated: bool,
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
        let Context { database, settings, .. } = context;
        // Read the processor's object before the transaction begins, because no lock is held during a request.
        if let Some(object) = &self.refund {
            read_hand_refund(database, settings, &row, self.resolution, object).await?;
        }
        let resolved = self.change.run(database, async |tx| self.resolve(tx, settings, &row).await).await;
        resolved.map_err(|error| match error {
            TransitionError::Database(database::Error::Constraint { constraint, .. }) => {
                Refused(format!("another payment or refund has this processor id ({constraint})"))
            }
            error => error,
        })
    }

    async fn resolve(
        &self,
        tx: &mut Tx,
        settings: &Settings,
        seen: &ReviewRow,
    ) -> Result<Outcome<Report>, TransitionError> {
        // Lock the payment first: all transactions take the locks in this order.
        let payment = match seen.payment() {
            Some(payment) => Some(payments::lock(tx, payment).await?),
            None => None,
        };
        let (id, row) = (self.review_id, reviews::lock(tx, self.review_id).await?);
        if let Some(before) = row.resolution {
            if before != self.resolution {
                let why = format!("it was resolved before as {before}, and that resolution is final");
                return Err(Refused(why));
            }
            let report = self.report(true, None);
            let sentence = format!("review {id} has this resolution already: nothing changed");
            return Ok(Outcome::unchanged(report, sentence));
        }
        let resolution = (self.resolution, self.processor_id.as_deref());
        let policy = &settings.policy;
        let applied = match (&self.refund, &payment) {
            (Some(object), Some(payment)) => Some(attach_refund(tx, policy, payment, &row, object).await?),
            _ => apply_resolution(tx, policy, payment.as_ref(), &row, resolution).await?,
        };
        reviews::resolve(tx, &row, self.resolution, &self.change.operator()).await?;
        let fact = self.change.fact(row.tenant()?.as_ref(), "review.resolve", "review", id);
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
        Ok(Outcome::changed(self.report(false, applied), sentence, fact))
    }

    fn report(&self, repeated: bool, applied: Option<Applied>) -> Report {
        Report { review_id: self.review_id, repeated, resolution: self.resolution.into(), applied }
    }
}

/// The result for an id without a review.
pub(super) fn not_found(review: Uuid) -> CommandOutput {
    CommandOutput::not_found(format!("there is no review {review}"))
}
