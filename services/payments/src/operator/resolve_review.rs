//! `payments review resolve`: an operator states what happened to the money, and the payment or refund is settled.
//!
//! The resolution is recorded under the same locks and through the same decision tables as a response of the processor. With
//! `--refund`, a refund that was made by hand is read from the processor first, and then recorded.

use audit::{Fact, Operator};
use clap::Args;
use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser};
use database::{Database, Tx};
use envelope::ClientId;
use runtime::{CommandOutput, Context};
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use super::hand_refund::read_hand_refund;
use crate::Payments;
use crate::domain::review::Resolution;
use crate::settings::Settings;
use crate::store::payments;
use crate::store::reviews::{self, ReviewRow};
use crate::transitions::{Settled, TransitionError, attach_refund, settle_review};

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
    #[arg(long, value_name = "NAME", alias = "by", env = "USER", hide_env_values = true, value_parser = operator_name)]
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

pub(super) fn operator_name(text: &str) -> Result<ClientId, &'static str> {
    text.parse().map_err(|_| "a name is 1 to 64 characters of A-Z a-z 0-9 . _ -")
}

/// The result.
#[derive(Serialize)]
struct Report {
    dry_run: bool,
    review_id: Uuid,
    /// The review has this resolution, now or from before.
    resolved: bool,
    /// The review had this resolution before, and nothing changed.
    repeated: bool,
    /// Why the resolution is refused, and what to do instead.
    refused: Option<String>,
    resolution: &'static str,
    /// What the resolution changed; null if the rows agreed with it already.
    settled: Option<Settled>,
}

impl Resolve {
    pub(super) async fn run(self, context: &Context<Payments>) -> Result<CommandOutput, TransitionError> {
        let mut connection = context.database.connection().await?;
        let found = reviews::find(&mut connection, self.review_id).await?;
        drop(connection);
        let Some(row) = found else { return Ok(not_found(self.review_id)) };
        let (database, settings) = (&context.database, &context.settings);
        // Read the processor's object before the transaction begins, because no lock is held during a request.
        let read = match &self.refund {
            Some(object) => read_hand_refund(database, settings, &row, self.resolution, object).await?,
            None => Ok(()),
        };
        let resolved = match read {
            Ok(()) => self.resolve(database, settings, &row).await,
            Err(instead) => Ok(self.refused(instead)),
        };
        let report = match resolved {
            Err(TransitionError::Database(database::Error::Constraint { constraint, .. })) => {
                self.refused(format!("another payment or refund has this processor id ({constraint})"))
            }
            resolved => resolved?,
        };
        Ok(CommandOutput::new(self.json, report.refused.is_none(), &report, Report::text))
    }

    async fn resolve(
        &self,
        database: &Database,
        settings: &Settings,
        seen: &ReviewRow,
    ) -> Result<Report, TransitionError> {
        let mut tx = database.begin().await?;
        // Lock the payment first: all transactions take the locks in this order.
        let payment = match seen.payment() {
            Some(payment) => Some(payments::lock(&mut tx, payment).await?),
            None => None,
        };
        let row = reviews::lock(&mut tx, self.review_id).await?;
        if let Some(before) = row.resolution {
            tx.rollback().await?;
            return Ok(self.repeated(before));
        }
        let resolution = (self.resolution, self.processor_id.as_deref());
        let (bodies, worker) = (&settings.bodies, &settings.worker);
        let (limits, retries) = (worker.into(), worker.into());
        let settled = match (&self.refund, &payment) {
            (Some(object), Some(payment)) => {
                attach_refund(&mut tx, bodies, limits, retries, payment, &row, object).await?.map(Some)
            }
            _ => settle_review(&mut tx, bodies, limits, retries, payment.as_ref(), &row, resolution).await?,
        };
        let settled = match settled {
            Ok(settled) => settled,
            Err(instead) => {
                tx.rollback().await?;
                return Ok(self.refused(instead));
            }
        };
        let operator = Operator::new(self.operator.clone(), self.note.clone());
        reviews::resolve(&mut tx, &row, self.resolution, &operator).await?;
        self.record(&mut tx, &row, &operator, settled.as_ref())?;
        if self.dry_run {
            tx.flush().await?;
            tx.rollback().await?;
        } else {
            tx.commit().await?;
        }
        Ok(Report { resolved: true, settled, ..self.report() })
    }

    /// The result for a review that is resolved already.
    fn repeated(&self, before: Resolution) -> Report {
        if before == self.resolution {
            return Report { resolved: true, repeated: true, ..self.report() };
        }
        self.refused(format!("it was resolved before as {before}, and that resolution is final"))
    }

    fn record(
        &self,
        tx: &mut Tx,
        row: &ReviewRow,
        operator: &Operator,
        settled: Option<&Settled>,
    ) -> Result<(), TransitionError> {
        let tenant = row.tenant()?;
        let fact = Fact::by_operator(operator, tenant.as_ref(), "review.resolve", "review", row.id);
        let details = json!({
            "subject": row.subject_name(),
            "subject_id": row.subject_id(),
            "payment": row.payment(),
            "opened_because": row.reason.to_string(),
            "resolution": self.resolution.to_string(),
            "processor_id": self.refund.as_ref().or(self.processor_id.as_ref()),
            "settled": settled,
        });
        audit::record(tx, fact.with(details));
        Ok(())
    }

    fn report(&self) -> Report {
        Report {
            dry_run: self.dry_run,
            review_id: self.review_id,
            resolved: false,
            repeated: false,
            refused: None,
            resolution: self.resolution.into(),
            settled: None,
        }
    }

    fn refused(&self, why: impl Into<String>) -> Report {
        Report { refused: Some(why.into()), ..self.report() }
    }
}

impl Report {
    fn text(&self) -> String {
        let id = self.review_id;
        if let Some(refused) = &self.refused {
            return format!("review {id} is not resolved: {refused}\n");
        }
        if self.repeated {
            return format!("review {id} has this resolution already: nothing changed\n");
        }
        let change = match &self.settled {
            Some(Settled { from, to }) => format!("the recorded state was {from} and is {to} now"),
            None => "the recorded state agreed already".to_owned(),
        };
        let mut text = format!("resolved: {id} as {}\n  {change}\n", self.resolution);
        if self.dry_run {
            text.push_str("this was a dry run: nothing changed\n");
        }
        text
    }
}

/// The result for an id without a review.
pub(super) fn not_found(review: Uuid) -> CommandOutput {
    CommandOutput { text: format!("there is no review {review}\n"), done: false }
}
