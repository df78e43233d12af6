//! The refunds' rows. They change only while their payment is locked, so they need no lock of their own.

use chrono::{DateTime, Utc};
use contracts::{PaymentId, RefundId, TenantId};
use database::functions::clock_timestamp;
use database::{Connection, Result, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::unreadable;
use crate::domain::refund::State;
use crate::schema::refund;

/// A refund as it is stored.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = refund)]
pub(crate) struct RefundRow {
    pub(crate) id: Uuid,
    pub(crate) payment_id: Uuid,
    pub(crate) cause: String,
    pub(crate) amount: i64,
    state: String,
    failure_code: Option<String>,
    processor_refund: Option<String>,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) updated_at: DateTime<Utc>,
}

impl RefundRow {
    pub(crate) fn id(&self) -> RefundId {
        self.id.into()
    }

    pub(crate) fn state(&self) -> Result<State> {
        match self.state.as_str() {
            "pending" => Ok(State::Pending),
            "succeeded" => {
                let id =
                    self.processor_refund.clone().ok_or_else(|| unreadable("refund.processor_refund"))?;
                Ok(State::Succeeded { id })
            }
            "failed" => {
                let code = self.failure_code.clone().ok_or_else(|| unreadable("refund.failure_code"))?;
                Ok(State::Failed { code })
            }
            "unknown" => Ok(State::Unknown),
            _ => Err(unreadable("refund.state")),
        }
    }
}

/// A refund that is asked for.
pub(crate) struct NewRefund<'a> {
    pub(crate) id: RefundId,
    pub(crate) tenant: &'a TenantId,
    pub(crate) payment: PaymentId,
    pub(crate) cause: &'a str,
    pub(crate) amount: i64,
}

/// Inserts it. A second one for the same cause is refused by the database.
pub(crate) async fn insert(tx: &mut Tx, new: &NewRefund<'_>) -> Result<()> {
    diesel::insert_into(refund::table)
        .values((
            refund::id.eq(new.id.uuid()),
            refund::tenant_id.eq(new.tenant.as_str()),
            refund::payment_id.eq(new.payment.uuid()),
            refund::cause.eq(new.cause),
            refund::amount.eq(new.amount),
        ))
        .execute(tx)
        .await?;
    Ok(())
}

/// A refund that is there. Its payment is locked.
pub(crate) async fn get(tx: &mut Tx, id: RefundId) -> Result<RefundRow> {
    Ok(refund::table.find(id.uuid()).select(RefundRow::as_select()).first(tx).await?)
}

/// Writes what a decision has changed. Its payment is locked.
pub(crate) async fn update(tx: &mut Tx, id: RefundId, state: &State) -> Result<()> {
    let (state, code, processor_refund) = columns_of(state);
    diesel::update(refund::table.find(id.uuid()))
        .set((
            refund::state.eq(state),
            refund::failure_code.eq(code),
            refund::processor_refund.eq(processor_refund),
            refund::updated_at.eq(clock_timestamp()),
        ))
        .execute(tx)
        .await?;
    Ok(())
}

fn columns_of(state: &State) -> (&'static str, Option<&str>, Option<&str>) {
    match state {
        State::Pending => ("pending", None, None),
        State::Succeeded { id } => ("succeeded", None, Some(id)),
        State::Failed { code } => ("failed", Some(code), None),
        State::Unknown => ("unknown", None, None),
    }
}

/// The refunds of these payments, oldest first.
pub(crate) async fn of_payments(connection: &mut Connection, payments: &[Uuid]) -> Result<Vec<RefundRow>> {
    let rows = refund::table
        .filter(refund::payment_id.eq_any(payments))
        .order(refund::id)
        .select(RefundRow::as_select())
        .load(connection)
        .await?;
    Ok(rows)
}
