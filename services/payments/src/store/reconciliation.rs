//! Reads our records for the reconciliation, and holds the turn of the scheduled one (table `reconciliation`).

use std::time::Duration;

use chrono::{DateTime, Utc};
use contracts::PaymentId;
use database::functions::{clock_timestamp, from_now};
use database::{Connection, Database, Result};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::payments::PaymentRow;
use super::refunds::RefundRow;
use crate::domain::reconciliation::{MoneyState, OurRecord};
use crate::domain::{CallKind, payment, refund, time_delta};
use crate::schema::{payment as payments, processor_call as call, reconciliation, refund as refunds};

/// Selects the records to read. A record is read if one of the conditions holds.
pub(crate) struct RecordFilter<'a> {
    /// Its first request was sent at this time or later.
    pub(crate) since: DateTime<Utc>,
    /// Records that changed after this time need not be in the processor's list.
    pub(crate) until: DateTime<Utc>,
    /// It has one of these ids.
    pub(crate) references: &'a [Uuid],
    /// Its object has one of these ids at the processor.
    pub(crate) objects: &'a [String],
}

impl RecordFilter<'_> {
    fn must_be_listed(&self, sent: Option<DateTime<Utc>>, updated: DateTime<Utc>) -> bool {
        sent.is_some_and(|sent| sent >= self.since) && updated < self.until
    }
}

/// Returns the database's clock.
pub(crate) async fn now(connection: &mut Connection) -> Result<DateTime<Utc>> {
    Ok(diesel::select(clock_timestamp()).get_result(connection).await?)
}

/// Reads the payments that match the filter.
pub(crate) async fn charges(
    connection: &mut Connection,
    filter: &RecordFilter<'_>,
) -> Result<Vec<OurRecord>> {
    let RecordFilter { since, references, objects, .. } = filter;
    let rows: Vec<(PaymentRow, Option<String>, Option<DateTime<Utc>>)> = payments::table
        .inner_join(call::table.on(call::id.eq(payments::id)))
        .filter(
            call::sent_since
                .ge(since)
                .or(payments::id.eq_any(*references).nullable())
                .or(call::processor_object.eq_any(*objects))
                .or(payments::processor_intent.eq_any(*objects)),
        )
        .select((PaymentRow::as_select(), call::processor_object, call::sent_since))
        .load(connection)
        .await?;
    let record = |(row, object, sent): (PaymentRow, Option<String>, Option<DateTime<Utc>>)| {
        let state = row.state()?;
        let in_flight = state == payment::State::Capturing;
        let (money, object) = match state {
            payment::State::Captured(reference) => (MoneyState::Moved, Some(reference.id)),
            // A requested payment matches the filter only if the processor lists it. Then its request was sent.
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
            must_be_listed: filter.must_be_listed(sent, row.updated_at),
        })
    };
    rows.into_iter().map(record).collect()
}

/// Reads the refunds that match the filter.
pub(crate) async fn refunds(
    connection: &mut Connection,
    filter: &RecordFilter<'_>,
) -> Result<Vec<OurRecord>> {
    type JoinedRow = (RefundRow, PaymentRow, Option<String>, bool, Option<DateTime<Utc>>);
    let RecordFilter { since, references, objects, .. } = filter;
    let rows: Vec<JoinedRow> = refunds::table
        .inner_join(call::table.on(call::id.eq(refunds::id)))
        .inner_join(payments::table.on(payments::id.eq(refunds::payment_id)))
        .filter(
            call::sent_since
                .ge(since)
                .or(refunds::id.eq_any(*references).nullable())
                .or(call::processor_object.eq_any(*objects))
                .or(refunds::processor_refund.eq_any(*objects)),
        )
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
            must_be_listed: filter.must_be_listed(sent, row.updated_at),
        })
    };
    rows.into_iter().map(record).collect()
}

/// Takes the turn of a due reconciliation and makes the next one due after `every`. Returns `false` if none is due.
pub(crate) async fn take_turn(database: &Database, every: Duration) -> Result<bool> {
    let due = reconciliation::table.filter(reconciliation::due_at.le(clock_timestamp()));
    let next = reconciliation::due_at.eq(from_now(time_delta(every)));
    Ok(diesel::update(due).set(next).execute(&mut database.connection().await?).await? == 1)
}

/// Makes the next reconciliation due after `pause`, for any instance.
pub(crate) async fn retry_after(database: &Database, pause: Duration) -> Result<()> {
    let next = reconciliation::due_at.eq(from_now(time_delta(pause)));
    diesel::update(reconciliation::table).set(next).execute(&mut database.connection().await?).await?;
    Ok(())
}
