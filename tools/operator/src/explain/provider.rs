//! Reads the processor's own books. Only the stand-in's database can be read.

use audits::Database;
use chrono::{DateTime, Utc};
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

/// The processor's lines about a `PaymentIntent`. Its times are whole seconds, so no line is earlier than `asked`: our first attempt.
pub(crate) async fn read(session: &mut Session, intent: &str, asked: DateTime<Utc>) -> Result<Vec<FactLine>> {
    let query = |text| sql_query(text).bind::<Text, _>(intent.to_owned());
    let charges: Vec<ChargeRow> = session.rows(query(ChargeRow::QUERY)).await?;
    let refunds: Vec<ProviderRefundRow> = session.rows(query(ProviderRefundRow::QUERY)).await?;
    let line = |created: DateTime<Utc>, text: String| {
        FactLine::new(created.max(asked), Database::Provider, Step::Processor, text)
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
