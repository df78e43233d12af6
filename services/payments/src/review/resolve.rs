//! `review resolve`: a person has found out what became of the money, and the books are settled by it as if the
//! processor had said so, under the same lock and through the same tables.

use audit::{Fact, Operator};
use clap::Args;
use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser};
use contracts::ClientId;
use database::{Database, Tx};
use runtime::{CommandOutput, Context};
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use super::settle::{Settled, settle};
use super::there_is_none;
use crate::advance::Fault;
use crate::domain::review::Resolution;
use crate::store::payments;
use crate::store::reviews::{self, ReviewRow};
use crate::{Payments, Settings};

/// The arguments.
#[derive(Debug, Args)]
pub struct Resolve {
    /// The review
    review_id: Uuid,
    /// What became of the money; of a refund, captured means that it was not given back
    #[arg(long = "as", value_name = "WHAT", value_parser = what())]
    resolution: Resolution,
    /// How you know; it stands in the audit
    #[arg(long, value_name = "TEXT", alias = "reason", value_parser = NonEmptyStringValueParser::new())]
    note: String,
    /// The processor's name of what you found there: pi_… of a payment, re_… of a refund
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    processor_id: Option<String>,
    /// Who answers; the audit calls them @operator:NAME. Without it, whoever is logged in
    #[arg(long, value_name = "NAME", alias = "by", env = "USER", hide_env_values = true, value_parser = name)]
    operator: ClientId,
    /// Try it, print what would happen, and undo it
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn what() -> impl TypedValueParser<Value = Resolution> {
    PossibleValuesParser::new(["captured", "not-captured", "refunded"]).map(|word| match word.as_str() {
        "captured" => Resolution::Captured,
        "not-captured" => Resolution::NotCaptured,
        _ => Resolution::Refunded,
    })
}

fn name(text: &str) -> Result<ClientId, &'static str> {
    text.parse().map_err(|_| "a name is 1 to 64 characters of A-Z a-z 0-9 . _ -")
}

/// What became of it.
#[derive(Serialize)]
struct Report {
    dry_run: bool,
    review_id: Uuid,
    /// Whether it is answered so, now or before.
    resolved: bool,
    /// Whether it was answered so before: nothing was changed.
    repeated: bool,
    /// Why not, and what to do instead.
    refused: Option<String>,
    resolution: &'static str,
    /// What the answer has changed in the books; null if they said so already.
    settled: Option<Settled>,
}

impl Resolve {
    pub(super) async fn run(self, context: &Context<Payments>) -> Result<CommandOutput, Fault> {
        let mut connection = context.database.connection().await?;
        let found = reviews::find(&mut connection, self.review_id).await?;
        drop(connection);
        let Some(row) = found else { return Ok(there_is_none(self.review_id)) };
        let report = match self.resolve(&context.database, &context.settings, &row).await {
            Err(Fault::Database(database::Error::Constraint { constraint, .. })) => self.refused(format!(
                "the books cannot say so ({constraint}): that is another payment's or refund's"
            )),
            resolved => resolved?,
        };
        Ok(CommandOutput::new(self.json, report.refused.is_none(), &report, Report::text))
    }

    async fn resolve(
        &self,
        database: &Database,
        settings: &Settings,
        seen: &ReviewRow,
    ) -> Result<Report, Fault> {
        let mut tx = database.begin().await?;
        // First the payment: everybody takes the rows in this order.
        let payment = match seen.payment() {
            Some(payment) => Some(payments::lock(&mut tx, payment).await?),
            None => None,
        };
        let row = reviews::lock(&mut tx, self.review_id).await?;
        if let Some(before) = row.resolution()? {
            tx.rollback().await?;
            return Ok(self.again(before));
        }
        let settled =
            settle(&mut tx, settings, payment.as_ref(), &row, self.resolution, self.processor_id.as_deref());
        let settled = match settled.await? {
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

    /// It is answered already.
    fn again(&self, before: Resolution) -> Report {
        if before == self.resolution {
            return Report { resolved: true, repeated: true, ..self.report() };
        }
        self.refused(format!("it was answered before, with {}; that answer stays", before.name()))
    }

    fn record(
        &self,
        tx: &mut Tx,
        row: &ReviewRow,
        operator: &Operator,
        settled: Option<&Settled>,
    ) -> Result<(), Fault> {
        let tenant = row.tenant()?;
        let fact = Fact::by_operator(operator, tenant.as_ref(), "review.resolve", "review", row.id);
        let details = json!({
            "subject": row.subject_name(),
            "subject_id": row.subject_id(),
            "payment": row.payment(),
            "opened_because": row.reason()?.name(),
            "resolution": self.resolution.name(),
            "processor_id": self.processor_id,
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
            resolution: self.resolution.name(),
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
            return format!("review {id} was resolved so before: nothing was changed\n");
        }
        let books = match &self.settled {
            Some(Settled { from, to }) => format!("the books said {from} and say {to} now"),
            None => "the books said so already".to_owned(),
        };
        let mut text = format!("resolved: {id} as {}\n  {books}\n", self.resolution);
        if self.dry_run {
            text.push_str("this was a dry run: nothing was changed\n");
        }
        text
    }
}
