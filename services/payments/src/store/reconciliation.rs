//! Reads our records for the reconciliation, and stores the time until which everything was compared (table `reconciliation`).

use chrono::{DateTime, Utc};
use contracts::PaymentId;
use database::functions::clock_timestamp;
use database::{Connection, Result};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::payments::PaymentRow;
use super::refunds::RefundRow;
use crate::domain::reconciliation::{MoneyState, OurRecord};
use crate::domain::{CallKind, payment, refund};
use crate::schema::{payment as payments, processor_call as call, reconciliation, refund as refunds};

/// The compared period.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Period {
    /// Requests that were first sent at this time or later belong to it.
    pub(crate) since: DateTime<Utc>,
    /// Its end, before the processor's lists were read. Records that changed later need not be in the lists.
    pub(crate) opened: DateTime<Utc>,
}

impl Period {
    fn contains(&self, sent: Option<DateTime<Utc>>) -> bool {
        sent.is_some_and(|sent| (self.since..self.opened).contains(&sent))
    }
}

/// The position of a record among those of a period.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SentPosition {
    sent_since: DateTime<Utc>,
    pub(crate) id: Uuid,
}

impl SentPosition {
    /// The position before the first record that was sent at this time.
    pub(crate) fn at(sent_since: DateTime<Utc>) -> Self {
        Self { sent_since, id: Uuid::nil() }
    }
}

/// Returns the positions of the next `limit` records of a kind that were sent before a time, in order.
pub(crate) async fn sent_positions(
    connection: &mut Connection,
    kind: CallKind,
    after: SentPosition,
    before: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<SentPosition>> {
    let SentPosition { sent_since, id } = after;
    let rows: Vec<(Option<DateTime<Utc>>, Uuid)> = call::table
        .filter(call::kind.eq(kind))
        .filter(call::sent_since.ge(sent_since))
        .filter(call::sent_since.lt(before))
        .filter(call::sent_since.gt(sent_since).or((call::id.gt(id)).nullable()))
        .order((call::sent_since, call::id))
        .limit(limit)
        .select((call::sent_since, call::id))
        .load(connection)
        .await?;
    let position = |(sent_since, id): (Option<_>, _)| Some(SentPosition { sent_since: sent_since?, id });
    Ok(rows.into_iter().filter_map(position).collect())
}

/// Returns the ids of the payments whose objects have these ids at the processor.
pub(crate) async fn charges_of_objects(connection: &mut Connection, objects: &[String]) -> Result<Vec<Uuid>> {
    // Two statements: an OR over both tables would read both of them from end to end.
    let mut ids = calls_of_objects(connection, CallKind::Charge, objects).await?;
    let captured = payments::table.filter(payments::processor_intent.eq_any(objects)).select(payments::id);
    ids.extend(captured.load::<Uuid>(connection).await?);
    Ok(ids)
}

/// Returns the ids of the refunds whose objects have these ids at the processor.
pub(crate) async fn refunds_of_objects(connection: &mut Connection, objects: &[String]) -> Result<Vec<Uuid>> {
    let mut ids = calls_of_objects(connection, CallKind::Refund, objects).await?;
    let made = refunds::table.filter(refunds::processor_refund.eq_any(objects)).select(refunds::id);
    ids.extend(made.load::<Uuid>(connection).await?);
    Ok(ids)
}

async fn calls_of_objects(
    connection: &mut Connection,
    kind: CallKind,
    objects: &[String],
) -> Result<Vec<Uuid>> {
    let calls = call::table.filter(call::processor_object.eq_any(objects)).filter(call::kind.eq(kind));
    Ok(calls.select(call::id).load(connection).await?)
}

/// Returns the database's clock.
pub(crate) async fn now(connection: &mut Connection) -> Result<DateTime<Utc>> {
    Ok(diesel::select(clock_timestamp()).get_result(connection).await?)
}

/// Reads the payments with these ids.
pub(crate) async fn charges(
    connection: &mut Connection,
    period: Period,
    ids: &[Uuid],
) -> Result<Vec<OurRecord>> {
    let rows: Vec<(PaymentRow, Option<String>, Option<DateTime<Utc>>)> = payments::table
        .inner_join(call::table.on(call::id.eq(payments::id)))
        .filter(payments::id.eq_any(ids))
        .select((PaymentRow::as_select(), call::processor_object, call::sent_since))
        .load(connection)
        .await?;
    let record = |(row, object, sent): (PaymentRow, Option<String>, Option<DateTime<Utc>>)| {
        let state = row.state()?;
        let in_flight = state == payment::State::Capturing;
        let (money, object) = match state {
            payment::State::Captured(reference) => (MoneyState::Moved, Some(reference.id)),
            // A requested payment was read because the processor lists it. Then its request was sent.
            payment::State::Requested | payment::State::Capturing | payment::State::Unknown => {
                (MoneyState::Open, object)
            }
            payment::State::Declined { .. } | payment::State::Cancelled => (MoneyState::NotMoved, object),
        };
        let amount = row.amount()?;
        Ok(OurRecord {
            kind: CallKind::Charge,
            id: row.id,
            payment: row.id(),
            tenant: row.tenant()?,
            amount: amount.amount,
            currency: amount.currency.code().to_owned(),
            money,
            in_flight,
            object,
            is_of_period: period.contains(sent),
            must_be_listed: period.contains(sent) && row.updated_at < period.opened,
        })
    };
    rows.into_iter().map(record).collect()
}

/// Reads the refunds with these ids.
pub(crate) async fn refunds(
    connection: &mut Connection,
    period: Period,
    ids: &[Uuid],
) -> Result<Vec<OurRecord>> {
    type JoinedRow = (RefundRow, PaymentRow, Option<String>, bool, Option<DateTime<Utc>>);
    let rows: Vec<JoinedRow> = refunds::table
        .inner_join(call::table.on(call::id.eq(refunds::id)))
        .inner_join(payments::table.on(payments::id.eq(refunds::payment_id)))
        .filter(refunds::id.eq_any(ids))
        .select((
            RefundRow::as_select(),
            PaymentRow::as_select(),
            call::processor_object,
            call::in_flight,
            call::sent_since,
        ))
        .load(connection)
        .await?;
    let record = |(row, payment, object, in_flight, sent): JoinedRow| {
        let state = row.state()?;
        let in_flight = in_flight && state == refund::State::Pending;
        let (money, object) = match state {
            refund::State::Succeeded { id } => (MoneyState::Moved, Some(id)),
            refund::State::Pending | refund::State::Unknown => (MoneyState::Open, object),
            refund::State::Failed { id, .. } => (MoneyState::NotMoved, id.or(object)),
        };
        Ok(OurRecord {
            kind: CallKind::Refund,
            id: row.id,
            payment: PaymentId::from(row.payment_id),
            tenant: payment.tenant()?,
            amount: row.amount,
            currency: payment.amount()?.currency.code().to_owned(),
            money,
            in_flight,
            object,
            is_of_period: period.contains(sent),
            must_be_listed: period.contains(sent) && row.updated_at < period.opened,
        })
    };
    rows.into_iter().map(record).collect()
}

/// Returns the time until which everything was compared; `None` before the first reconciliation.
pub(crate) async fn compared_until(connection: &mut Connection) -> Result<Option<DateTime<Utc>>> {
    Ok(reconciliation::table.select(reconciliation::compared_until).first(connection).await?)
}

/// Stores the time until which everything was compared. It never goes back.
pub(crate) async fn set_compared_until(connection: &mut Connection, until: DateTime<Utc>) -> Result<()> {
    let is_later = reconciliation::compared_until.is_null().or(reconciliation::compared_until.lt(until));
    let set = reconciliation::compared_until.eq(until);
    diesel::update(reconciliation::table.filter(is_later)).set(set).execute(connection).await?;
    Ok(())
}
