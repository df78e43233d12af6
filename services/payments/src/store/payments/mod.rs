//! The table `payment`.

mod aggregate;
mod row;

use chrono::{DateTime, Utc};
use contracts::{Money, OrderId, PaymentId};
use database::functions::clock_timestamp;
use database::{Connection, Locked, Result, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use envelope::{OperationId, TenantId};
use uuid::Uuid;

pub(crate) use self::row::PaymentRow;
use crate::domain::payment::Status;
use crate::schema::payment;

/// A payment to add.
pub(crate) struct NewPayment<'a> {
    pub(crate) id: PaymentId,
    pub(crate) tenant: &'a TenantId,
    pub(crate) order: Option<OrderId>,
    pub(crate) operation: Option<OperationId>,
    pub(crate) reference: Option<&'a str>,
    pub(crate) amount: Money,
    pub(crate) payment_method: &'a str,
    pub(crate) expires_at: DateTime<Utc>,
}

/// Adds a payment. Returns `false` if it exists.
pub(crate) async fn add(tx: &mut Tx, new: &NewPayment<'_>) -> Result<bool> {
    if tx.lock::<PaymentRow>(new.id).await?.is_some() {
        return Ok(false);
    }
    let at = tx.now().await?;
    let row = PaymentRow {
        id: new.id.uuid(),
        tenant_id: new.tenant.to_string(),
        order_id: new.order.map(OrderId::uuid),
        amount: new.amount.amount,
        currency: new.amount.currency.code().to_owned(),
        payment_method: new.payment_method.to_owned(),
        state: Status::Requested,
        cancel_requested: false,
        decline_code: None,
        processor_intent: None,
        processor_charge: None,
        refund_reserved: 0,
        confirmed: false,
        fee: None,
        fee_currency: None,
        fee_transaction: None,
        operation_id: new.operation.map(OperationId::uuid),
        reference: new.reference.map(str::to_owned),
        sequence: 0,
        expires_at: new.expires_at,
        created_at: at,
        updated_at: at,
    };
    tx.add(row, at);
    Ok(true)
}

/// Locks the payment of an order, if it has one.
///
/// The caller checks the tenant. Otherwise it could not distinguish "no payment" from "a payment of another tenant".
pub(crate) async fn lock_of_order(tx: &mut Tx, order: OrderId) -> Result<Option<PaymentRow>> {
    Ok(tx.lock::<PaymentRow>(PaymentId::of(order)).await?.map(Locked::into_row))
}

/// Locks a payment that exists.
pub(crate) async fn lock(tx: &mut Tx, id: PaymentId) -> Result<PaymentRow> {
    Ok(locked(tx, id).await?.into_row())
}

async fn locked(tx: &mut Tx, id: PaymentId) -> Result<Locked<PaymentRow>> {
    Ok(tx.lock::<PaymentRow>(id).await?.ok_or(diesel::result::Error::NotFound)?)
}

/// Locks a payment of this tenant, if it exists.
pub(crate) async fn lock_of_tenant(
    tx: &mut Tx,
    tenant: &TenantId,
    id: PaymentId,
) -> Result<Option<PaymentRow>> {
    let row = tx.lock::<PaymentRow>(id).await?.map(Locked::into_row);
    Ok(row.filter(|row| row.tenant_id == tenant.as_str()))
}

/// Locks the payment of an operation, if the operation created one.
pub(crate) async fn lock_of_operation(tx: &mut Tx, operation: OperationId) -> Result<Option<PaymentRow>> {
    let row = payment::table
        .filter(payment::operation_id.eq(operation.uuid()))
        .select((PaymentRow::as_select(), clock_timestamp()))
        .for_update()
        .load(tx)
        .await?;
    Ok(tx.adopt(row).pop().map(Locked::into_row))
}

/// Changes a payment, which is locked, and returns the new row. A constraint refuses to reserve more than the captured amount.
pub(crate) async fn change(
    tx: &mut Tx,
    id: PaymentId,
    change: impl FnOnce(&mut PaymentRow) + Send,
) -> Result<PaymentRow> {
    let change = |row: &mut PaymentRow, at| {
        change(row);
        row.updated_at = at;
    };
    Ok(locked(tx, id).await?.change(tx, change).into_row())
}

/// Finds a payment of this tenant.
pub(crate) async fn find(
    connection: &mut Connection,
    tenant: &TenantId,
    id: PaymentId,
) -> Result<Option<PaymentRow>> {
    let row = payment::table
        .find(id.uuid())
        .filter(payment::tenant_id.eq(tenant.as_str()))
        .select(PaymentRow::as_select())
        .first(connection)
        .await
        .optional()?;
    Ok(row)
}

/// Returns up to `limit` payments of this tenant with ids below `before`, newest first: all of them, or those of this order and
/// with this reference.
pub(crate) async fn list(
    connection: &mut Connection,
    tenant: &TenantId,
    (order, reference): (Option<OrderId>, Option<&str>),
    before: Uuid,
    limit: i64,
) -> Result<Vec<PaymentRow>> {
    let mut rows = payment::table
        .filter(payment::tenant_id.eq(tenant.as_str()))
        .filter(payment::id.lt(before))
        .order(payment::id.desc())
        .limit(limit)
        .select(PaymentRow::as_select())
        .into_boxed();
    if let Some(order) = order {
        rows = rows.filter(payment::order_id.eq(order.uuid()));
    }
    if let Some(reference) = reference {
        rows = rows.filter(payment::reference.eq(reference));
    }
    Ok(rows.load(connection).await?)
}
