//! The table `refund`.
//!
//! A refund changes only under the row lock of its payment, so its own row is never locked.

use chrono::{DateTime, Utc};
use contracts::{PaymentId, RefundId};
use database::functions::clock_timestamp;
use database::{Connection, Result, Tx, unreadable};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use envelope::{OperationId, TenantId};
use uuid::Uuid;

use super::payments::PaymentRow;
use crate::domain::refund::{State, Status};
use crate::schema::{payment, refund};

/// A stored refund.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = refund)]
pub(crate) struct RefundRow {
    pub(crate) id: Uuid,
    pub(crate) payment_id: Uuid,
    pub(crate) cause: String,
    pub(crate) amount: i64,
    state: Status,
    failure_code: Option<String>,
    processor_refund: Option<String>,
    operation_id: Option<Uuid>,
    pub(crate) reason: Option<String>,
    follows: Option<Uuid>,
    /// 1, or one more than the number of the refund that this one follows.
    pub(crate) try_number: i32,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) updated_at: DateTime<Utc>,
}

impl RefundRow {
    pub(crate) fn id(&self) -> RefundId {
        self.id.into()
    }

    /// The failed refund that this one repeats.
    pub(crate) fn follows(&self) -> Option<RefundId> {
        self.follows.map(RefundId::from)
    }

    /// The service requested it, or the first refund that it follows.
    pub(crate) fn is_automatic(&self) -> bool {
        self.cause == "order_cancelled"
    }

    /// The operation of the client's command; `None` for a refund without one.
    pub(crate) fn operation(&self) -> Option<OperationId> {
        self.operation_id.map(OperationId::from)
    }

    pub(crate) fn state(&self) -> Result<State> {
        match self.state {
            Status::Pending => Ok(State::Pending),
            Status::Succeeded => {
                let id =
                    self.processor_refund.clone().ok_or_else(|| unreadable("refund.processor_refund"))?;
                Ok(State::Succeeded { id })
            }
            Status::Failed => {
                let code = self.failure_code.clone().ok_or_else(|| unreadable("refund.failure_code"))?;
                Ok(State::Failed { code, id: self.processor_refund.clone() })
            }
            Status::Unknown => Ok(State::Unknown),
        }
    }
}

/// A refund to insert.
pub(crate) struct NewRefund<'a> {
    pub(crate) id: RefundId,
    pub(crate) tenant: &'a TenantId,
    pub(crate) payment: PaymentId,
    pub(crate) cause: &'a str,
    pub(crate) operation: Option<OperationId>,
    pub(crate) reason: Option<&'a str>,
    pub(crate) amount: i64,
    /// The failed refund that it repeats.
    pub(crate) follows: Option<&'a RefundRow>,
}

/// Inserts a refund. The database refuses a second automatic refund of a payment, a second refund of an operation, and a
/// second refund that follows the same one.
pub(crate) async fn insert(tx: &mut Tx, new: &NewRefund<'_>) -> Result<()> {
    diesel::insert_into(refund::table)
        .values((
            refund::id.eq(new.id.uuid()),
            refund::tenant_id.eq(new.tenant.as_str()),
            refund::payment_id.eq(new.payment.uuid()),
            refund::cause.eq(new.cause),
            refund::operation_id.eq(new.operation.map(OperationId::uuid)),
            refund::reason.eq(new.reason),
            refund::amount.eq(new.amount),
            refund::follows.eq(new.follows.map(|failed| failed.id)),
            refund::try_number.eq(new.follows.map_or(1, |failed| failed.try_number + 1)),
        ))
        .execute(tx)
        .await?;
    Ok(())
}

/// Reads a refund that exists. Its payment is locked.
pub(crate) async fn get(tx: &mut Tx, id: RefundId) -> Result<RefundRow> {
    Ok(refund::table.find(id.uuid()).select(RefundRow::as_select()).first(tx).await?)
}

/// Returns the ids of the refunds of a payment, which is locked.
pub(crate) async fn ids(tx: &mut Tx, payment: PaymentId) -> Result<Vec<RefundId>> {
    let ids = refund::table.filter(refund::payment_id.eq(payment.uuid())).select(refund::id);
    Ok(ids.load::<Uuid>(tx).await?.into_iter().map(RefundId::from).collect())
}

/// Finds the refund that follows this one. Its payment is locked.
pub(crate) async fn find_follower(tx: &mut Tx, id: RefundId) -> Result<Option<RefundRow>> {
    let row = refund::table.filter(refund::follows.eq(id.uuid())).select(RefundRow::as_select());
    Ok(row.first(tx).await.optional()?)
}

/// Finds a refund of any tenant, with its payment.
pub(crate) async fn find_of_any_tenant(
    connection: &mut Connection,
    id: RefundId,
) -> Result<Option<(RefundRow, PaymentRow)>> {
    let row = refund::table
        .inner_join(payment::table)
        .filter(refund::id.eq(id.uuid()))
        .select((RefundRow::as_select(), PaymentRow::as_select()))
        .first(connection)
        .await
        .optional()?;
    Ok(row)
}

/// Updates a refund and returns the new row. Its payment is locked.
pub(crate) async fn update(tx: &mut Tx, id: RefundId, state: &State) -> Result<RefundRow> {
    let (code, processor_refund) = match state {
        State::Pending | State::Unknown => (None, None),
        State::Succeeded { id } => (None, Some(id)),
        State::Failed { code, id } => (Some(code), id.as_ref()),
    };
    let row = diesel::update(refund::table.find(id.uuid()))
        .set((
            refund::state.eq(Status::from(state)),
            refund::failure_code.eq(code),
            refund::processor_refund.eq(processor_refund),
            refund::updated_at.eq(clock_timestamp()),
        ))
        .returning(RefundRow::as_returning())
        .get_result(tx)
        .await?;
    Ok(row)
}

/// Returns the refunds of these payments, oldest first.
pub(crate) async fn of_payments(connection: &mut Connection, payments: &[Uuid]) -> Result<Vec<RefundRow>> {
    let rows = refund::table
        .filter(refund::payment_id.eq_any(payments))
        .order((refund::created_at, refund::id))
        .select(RefundRow::as_select())
        .load(connection)
        .await?;
    Ok(rows)
}

/// Finds a refund of this tenant, with its payment.
pub(crate) async fn find(
    connection: &mut Connection,
    tenant: &TenantId,
    id: RefundId,
) -> Result<Option<(RefundRow, PaymentRow)>> {
    match find_of_any_tenant(connection, id).await? {
        Some((refund, payment)) if payment.tenant()? == *tenant => Ok(Some((refund, payment))),
        _ => Ok(None),
    }
}

/// Returns up to `limit` refunds of this tenant that are older than the refund `before`, newest first, each with its payment. Ids are
/// computed, so they do not tell the order. Without such a refund, the list begins with the newest one.
pub(crate) async fn list(
    connection: &mut Connection,
    tenant: &TenantId,
    before: Uuid,
    limit: i64,
) -> Result<Vec<(RefundRow, PaymentRow)>> {
    // Of this tenant, because a client can make up a cursor: the list must not tell when a refund of another tenant was made.
    let cursor = refund::table.find(before).filter(refund::tenant_id.eq(tenant.as_str()));
    let cursor = cursor.select(refund::created_at).first(connection).await.optional()?;
    let at = cursor.unwrap_or(DateTime::<Utc>::MAX_UTC);
    let rows = refund::table
        .inner_join(payment::table)
        .filter(refund::tenant_id.eq(tenant.as_str()))
        .filter(refund::created_at.le(at))
        .filter(refund::created_at.lt(at).or(refund::id.lt(before)))
        .order((refund::created_at.desc(), refund::id.desc()))
        .limit(limit)
        .select((RefundRow::as_select(), PaymentRow::as_select()))
        .load(connection)
        .await?;
    Ok(rows)
}
