//! What our books say about what the processor lists, and whose turn it is to compare them.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use contracts::PaymentId;
use database::functions::{clock_timestamp, from_now};
use database::{Connection, Database, Result};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::payments::PaymentRow;
use super::refunds::RefundRow;
use crate::domain::{payment, refund};
use crate::reconcile::books::{Kind, Moved, Row};
use crate::schema::{intent, payment as payments, reconciliation, refund as refunds};

/// What is looked for.
pub(crate) struct Wanted<'a> {
    /// Everything that was first sent since then.
    pub(crate) since: DateTime<Utc>,
    /// What has changed after this may not be listed yet.
    pub(crate) until: DateTime<Utc>,
    /// Whatever has one of these ids.
    pub(crate) references: &'a [Uuid],
    /// Whatever the processor calls by one of these names.
    pub(crate) objects: &'a [String],
}

/// The database's clock.
pub(crate) async fn now(connection: &mut Connection) -> Result<DateTime<Utc>> {
    Ok(diesel::select(clock_timestamp()).get_result(connection).await?)
}

/// The payments that are looked for.
pub(crate) async fn charges(connection: &mut Connection, wanted: &Wanted<'_>) -> Result<Vec<Row>> {
    let Wanted { since, until, references, objects } = wanted;
    let rows: Vec<(PaymentRow, Option<String>, Option<DateTime<Utc>>)> = payments::table
        .inner_join(intent::table.on(intent::id.eq(payments::id)))
        .filter(
            intent::sent_since
                .ge(since)
                .or(payments::id.eq_any(*references).nullable())
                .or(intent::processor_object.eq_any(*objects))
                .or(payments::processor_intent.eq_any(*objects)),
        )
        .select((PaymentRow::as_select(), intent::processor_object, intent::sent_since))
        .load(connection)
        .await?;
    let row = |(row, object, sent): (PaymentRow, Option<String>, Option<DateTime<Utc>>)| {
        let state = row.state()?;
        let under_way = state == payment::State::Capturing;
        let (moved, object) = match state {
            payment::State::Captured(receipt) => (Moved::Yes, Some(receipt.id)),
            // It is here only if the processor lists it: then it was sent, whatever is known here.
            payment::State::Requested | payment::State::Capturing | payment::State::Unknown => {
                (Moved::Open, object)
            }
            payment::State::Declined { .. } | payment::State::Cancelled => (Moved::No, object),
        };
        let amount = row.amount()?;
        Ok(Row {
            kind: Kind::Charge,
            id: row.id,
            payment: row.id(),
            tenant: row.tenant()?,
            amount: amount.amount,
            currency: amount.currency.code().to_owned(),
            moved,
            under_way,
            object,
            must_be_listed: sent.is_some_and(|sent| sent >= *since) && row.updated_at < *until,
        })
    };
    rows.into_iter().map(row).collect()
}

/// The refunds that are looked for.
pub(crate) async fn refunds(connection: &mut Connection, wanted: &Wanted<'_>) -> Result<Vec<Row>> {
    type Found = (RefundRow, PaymentRow, Option<String>, bool, Option<DateTime<Utc>>);
    let Wanted { since, until, references, objects } = wanted;
    let rows: Vec<Found> = refunds::table
        .inner_join(intent::table.on(intent::id.eq(refunds::id)))
        .inner_join(payments::table.on(payments::id.eq(refunds::payment_id)))
        .filter(
            intent::sent_since
                .ge(since)
                .or(refunds::id.eq_any(*references).nullable())
                .or(intent::processor_object.eq_any(*objects))
                .or(refunds::processor_refund.eq_any(*objects)),
        )
        .select((
            RefundRow::as_select(),
            PaymentRow::as_select(),
            intent::processor_object,
            intent::in_flight,
            intent::sent_since,
        ))
        .load(connection)
        .await?;
    let row = |(row, payment, object, in_flight, sent): Found| {
        let state = row.state()?;
        let under_way = in_flight && state == refund::State::Pending;
        let (moved, object) = match state {
            refund::State::Succeeded { id } => (Moved::Yes, Some(id)),
            refund::State::Pending | refund::State::Unknown => (Moved::Open, object),
            refund::State::Failed { id, .. } => (Moved::No, id.or(object)),
        };
        Ok(Row {
            kind: Kind::Refund,
            id: row.id,
            payment: PaymentId::from(row.payment_id),
            tenant: payment.tenant()?,
            amount: row.amount,
            currency: payment.amount()?.currency.code().to_owned(),
            moved,
            under_way,
            object,
            must_be_listed: sent.is_some_and(|sent| sent >= *since) && row.updated_at < *until,
        })
    };
    rows.into_iter().map(row).collect()
}

/// Takes this round for us, and puts the next one off by `every`; `false` if it is not due.
pub(crate) async fn take_turn(database: &Database, every: Duration) -> Result<bool> {
    let due = reconciliation::table.filter(reconciliation::due_at.le(clock_timestamp()));
    let next = reconciliation::due_at.eq(from_now(delta(every)));
    Ok(diesel::update(due).set(next).execute(&mut database.connection().await?).await? == 1)
}

/// The round failed: the next one comes after `pause`, whoever takes it.
pub(crate) async fn try_again(database: &Database, pause: Duration) -> Result<()> {
    let next = reconciliation::due_at.eq(from_now(delta(pause)));
    diesel::update(reconciliation::table).set(next).execute(&mut database.connection().await?).await?;
    Ok(())
}

fn delta(length: Duration) -> TimeDelta {
    TimeDelta::from_std(length).unwrap_or(TimeDelta::MAX)
}
