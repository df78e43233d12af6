//! Reads the processor's own books. Only the stand-in's database can be read.

use audits::Database;
use chrono::{DateTime, TimeDelta, Utc};
use diesel::sql_types::{BigInt, Nullable, Text, Timestamptz};
use diesel::{QueryableByName, sql_query};
use harness::{Result, Session};

use super::line::{FactLine, Step, money};

#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct ChargeRow {
    #[diesel(sql_type = Text)]
    intent: String,
    #[diesel(sql_type = Text)]
    status: String,
    #[diesel(sql_type = Nullable<Text>)]
    charge: Option<String>,
    #[diesel(sql_type = Nullable<BigInt>)]
    amount_captured: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    amount_refunded: Option<i64>,
    #[diesel(sql_type = Text)]
    currency: String,
    #[diesel(sql_type = Timestamptz)]
    created: DateTime<Utc>,
}

impl ChargeRow {
    pub(crate) const QUERY: &str = include_str!("../../sql/provider/charges.sql");
}

#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct ProviderRefundRow {
    #[diesel(sql_type = Text)]
    id: String,
    #[diesel(sql_type = Text)]
    status: String,
    #[diesel(sql_type = BigInt)]
    amount: i64,
    #[diesel(sql_type = Text)]
    currency: String,
    #[diesel(sql_type = Nullable<Text>)]
    failure_reason: Option<String>,
    #[diesel(sql_type = Timestamptz)]
    created: DateTime<Utc>,
}

impl ProviderRefundRow {
    pub(crate) const QUERY: &str = include_str!("../../sql/provider/refunds.sql");
}

/// When the first and the last attempt of a charge began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempts {
    pub(crate) first: DateTime<Utc>,
    pub(crate) last: DateTime<Utc>,
}

impl Attempts {
    /// The time of a line about an object that the processor created in the second that starts at `created`: not before the last
    /// attempt of that second, and never before the first attempt.
    fn line_time(self, created: DateTime<Utc>) -> DateTime<Utc> {
        let is_in_time = self.last < created + TimeDelta::seconds(1);
        created.max(if is_in_time { self.last } else { self.first })
    }
}

/// The processor's lines about a `PaymentIntent` that these attempts created.
pub(crate) async fn read(session: &mut Session, intent: &str, attempts: Attempts) -> Result<Vec<FactLine>> {
    let query = |text| sql_query(text).bind::<Text, _>(intent.to_owned());
    let charges: Vec<ChargeRow> = session.rows(query(ChargeRow::QUERY)).await?;
    let refunds: Vec<ProviderRefundRow> = session.rows(query(ProviderRefundRow::QUERY)).await?;
    let line = |created: DateTime<Utc>, text: String| {
        FactLine::new(attempts.line_time(created), Database::Provider, Step::Processor, text)
    };
    let charge = |row: ChargeRow| {
        let captured = money(row.amount_captured.unwrap_or_default(), &row.currency);
        let refunded = money(row.amount_refunded.unwrap_or_default(), &row.currency);
        let charge = row.charge.as_deref().unwrap_or("no charge");
        let (intent, status) = (&row.intent, &row.status);
        line(row.created, format!("{intent} is {status}: {charge}, {captured} captured, {refunded} refunded"))
    };
    let refund = |row: ProviderRefundRow| {
        let reason = row.failure_reason.map(|reason| format!(": {reason}")).unwrap_or_default();
        let amount = money(row.amount, &row.currency);
        line(row.created, format!("refund {} of {amount} is {}{reason}", row.id, row.status))
    };
    Ok(charges.into_iter().map(charge).chain(refunds.into_iter().map(refund)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_processor_is_not_before_the_attempt_that_can_have_created_its_object() {
        let at = |milliseconds: i64| DateTime::UNIX_EPOCH + TimeDelta::milliseconds(milliseconds);
        let line_time = |first, last, created| {
            Attempts { first: at(first), last: at(last) }.line_time(at(created)).timestamp_millis()
        };
        assert_eq!(
            line_time(1_400, 1_401, 1_000),
            1_401,
            "the only attempt, its two times read one after the other"
        );
        assert_eq!(line_time(1_400, 9_000, 1_000), 1_400, "the second attempt came too late");
        assert_eq!(line_time(1_400, 9_000, 9_000), 9_000, "the second attempt created it");
        assert_eq!(line_time(1_400, 1_401, 2_000), 2_000, "the processor was slow");
    }
}
