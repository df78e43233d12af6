//! The table `payment`.

use chrono::{DateTime, Utc};
use contracts::{Money, OperationId, OrderId, PaymentId, TenantId};
use database::functions::clock_timestamp;
use database::{Connection, Result, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::unreadable;
use crate::domain::payment::{Payment, State};
use crate::domain::{Fee, ProcessorReference};
use crate::schema::payment;

/// A stored payment.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = payment)]
pub(crate) struct PaymentRow {
    pub(crate) id: Uuid,
    tenant_id: String,
    order_id: Option<Uuid>,
    amount: i64,
    currency: String,
    pub(crate) payment_method: String,
    state: String,
    cancel_requested: bool,
    decline_code: Option<String>,
    processor_intent: Option<String>,
    processor_charge: Option<String>,
    pub(crate) refund_reserved: i64,
    /// The order is confirmed.
    pub(crate) confirmed: bool,
    fee: Option<i64>,
    fee_currency: Option<String>,
    fee_transaction: Option<String>,
    operation_id: Option<Uuid>,
    pub(crate) reference: Option<String>,
    pub(crate) sequence: i64,
    pub(crate) expires_at: DateTime<Utc>,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) updated_at: DateTime<Utc>,
}

impl PaymentRow {
    pub(crate) fn id(&self) -> PaymentId {
        self.id.into()
    }

    pub(crate) fn tenant(&self) -> Result<TenantId> {
        self.tenant_id.parse().map_err(|_| unreadable("payment.tenant_id"))
    }

    pub(crate) fn order(&self) -> Option<OrderId> {
        self.order_id.map(OrderId::from)
    }

    /// The operation of the client's command; `None` if a message created the payment.
    pub(crate) fn operation(&self) -> Option<OperationId> {
        self.operation_id.map(OperationId::from)
    }

    pub(crate) fn amount(&self) -> Result<Money> {
        self.in_its_currency(self.amount)
    }

    /// Returns an amount in minor units of the payment's currency.
    pub(crate) fn in_its_currency(&self, amount: i64) -> Result<Money> {
        let currency = self.currency.parse().map_err(|_| unreadable("payment.currency"))?;
        Ok(Money::new(amount, currency))
    }

    /// The processor's fee, once it is known.
    fn fee(&self) -> Option<Fee> {
        let (balance_transaction, currency) = (self.fee_transaction.clone()?, self.fee_currency.clone()?);
        Some(Fee { balance_transaction, amount: self.fee?, currency })
    }

    /// Reads the part that a decision needs.
    pub(crate) fn payment(&self) -> Result<Payment> {
        Ok(Payment { state: self.state()?, cancel_requested: self.cancel_requested, is_restored: false })
    }

    /// The time at which the payment was requested, which is before a request for it can have been sent.
    pub(crate) fn requested_at(&self) -> Result<DateTime<Utc>> {
        let time = i64::try_from(self.id().requested_at()).ok().and_then(DateTime::from_timestamp_millis);
        time.ok_or_else(|| unreadable("payment.id"))
    }

    pub(crate) fn state(&self) -> Result<State> {
        match self.state.as_str() {
            "requested" => Ok(State::Requested),
            "capturing" => Ok(State::Capturing),
            "captured" => {
                let id =
                    self.processor_intent.clone().ok_or_else(|| unreadable("payment.processor_intent"))?;
                Ok(State::Captured(ProcessorReference {
                    id,
                    charge: self.processor_charge.clone(),
                    fee: self.fee(),
                }))
            }
            "declined" => {
                let code = self.decline_code.clone().ok_or_else(|| unreadable("payment.decline_code"))?;
                Ok(State::Declined { code })
            }
            "unknown" => Ok(State::Unknown),
            "cancelled" => Ok(State::Cancelled),
            _ => Err(unreadable("payment.state")),
        }
    }
}

/// A payment to insert.
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

/// Inserts a payment. Returns `false` if the payment, or another one of the order, exists.
pub(crate) async fn insert(tx: &mut Tx, new: &NewPayment<'_>) -> Result<bool> {
    let inserted = diesel::insert_into(payment::table)
        .values((
            payment::id.eq(new.id.uuid()),
            payment::tenant_id.eq(new.tenant.as_str()),
            payment::order_id.eq(new.order.map(OrderId::uuid)),
            payment::operation_id.eq(new.operation.map(OperationId::uuid)),
            payment::reference.eq(new.reference),
            payment::amount.eq(new.amount.amount),
            payment::currency.eq(new.amount.currency.code()),
            payment::payment_method.eq(new.payment_method),
            payment::expires_at.eq(new.expires_at),
        ))
        .on_conflict_do_nothing()
        .execute(tx)
        .await?;
    Ok(inserted == 1)
}

/// Locks the payments of these orders, sorted by order id. Because all transactions sort, they cannot deadlock.
pub(crate) async fn lock_of_orders(tx: &mut Tx, orders: &[Uuid]) -> Result<()> {
    let rows = payment::table.filter(payment::order_id.eq_any(orders)).order(payment::order_id);
    rows.select(payment::id).for_update().execute(tx).await?;
    Ok(())
}

/// Locks the payment of an order, if it has one.
///
/// The caller checks the tenant. Otherwise it could not distinguish "no payment" from "a payment of another tenant".
pub(crate) async fn lock_of_order(tx: &mut Tx, order: OrderId) -> Result<Option<PaymentRow>> {
    let row = payment::table
        .filter(payment::order_id.eq(order.uuid()))
        .select(PaymentRow::as_select())
        .for_update()
        .first(tx)
        .await
        .optional()?;
    Ok(row)
}

/// Locks a payment that exists.
pub(crate) async fn lock(tx: &mut Tx, id: PaymentId) -> Result<PaymentRow> {
    let row = payment::table.find(id.uuid()).select(PaymentRow::as_select()).for_update();
    Ok(row.first(tx).await?)
}

/// Locks a payment of this tenant, if it exists.
pub(crate) async fn lock_of_tenant(
    tx: &mut Tx,
    tenant: &TenantId,
    id: PaymentId,
) -> Result<Option<PaymentRow>> {
    let row = payment::table
        .find(id.uuid())
        .filter(payment::tenant_id.eq(tenant.as_str()))
        .select(PaymentRow::as_select())
        .for_update()
        .first(tx)
        .await
        .optional()?;
    Ok(row)
}

/// Locks the payment of an operation, if the operation created one.
pub(crate) async fn lock_of_operation(tx: &mut Tx, operation: OperationId) -> Result<Option<PaymentRow>> {
    let row = payment::table
        .filter(payment::operation_id.eq(operation.uuid()))
        .select(PaymentRow::as_select())
        .for_update()
        .first(tx)
        .await
        .optional()?;
    Ok(row)
}

/// Reserves `amount` minor units for a refund. The row is locked. A constraint refuses more than the captured amount.
pub(crate) async fn reserve(tx: &mut Tx, id: PaymentId, amount: i64) -> Result<()> {
    let reserved = payment::refund_reserved.eq(payment::refund_reserved + amount);
    diesel::update(payment::table.find(id.uuid()))
        .set((reserved, payment::updated_at.eq(clock_timestamp())))
        .execute(tx)
        .await?;
    Ok(())
}

/// The new values of a payment.
pub(crate) struct Change<'a> {
    pub(crate) payment: &'a Payment,
    pub(crate) refund_reserved: i64,
    pub(crate) sequence: i64,
}

/// Updates a payment and returns the new row. The row is locked.
pub(crate) async fn update(tx: &mut Tx, id: PaymentId, change: &Change<'_>) -> Result<PaymentRow> {
    let (state, code, reference) = columns_of(&change.payment.state);
    let fee = reference.and_then(|reference| reference.fee.as_ref());
    let row = diesel::update(payment::table.find(id.uuid()))
        .set((
            payment::state.eq(state),
            payment::cancel_requested.eq(change.payment.cancel_requested),
            payment::decline_code.eq(code),
            payment::processor_intent.eq(reference.map(|reference| &reference.id)),
            payment::processor_charge.eq(reference.and_then(|reference| reference.charge.as_ref())),
            payment::fee.eq(fee.map(|fee| fee.amount)),
            payment::fee_currency.eq(fee.map(|fee| &fee.currency)),
            payment::fee_transaction.eq(fee.map(|fee| &fee.balance_transaction)),
            payment::refund_reserved.eq(change.refund_reserved),
            payment::sequence.eq(change.sequence),
            payment::updated_at.eq(clock_timestamp()),
        ))
        .returning(PaymentRow::as_returning())
        .get_result(tx)
        .await?;
    Ok(row)
}

/// Marks the order of a payment as confirmed. The row is locked.
pub(crate) async fn confirm(tx: &mut Tx, id: PaymentId) -> Result<()> {
    diesel::update(payment::table.find(id.uuid()))
        .set((payment::confirmed.eq(true), payment::updated_at.eq(clock_timestamp())))
        .execute(tx)
        .await?;
    Ok(())
}

fn columns_of(state: &State) -> (&'static str, Option<&str>, Option<&ProcessorReference>) {
    match state {
        State::Requested => ("requested", None, None),
        State::Capturing => ("capturing", None, None),
        State::Captured(reference) => ("captured", None, Some(reference)),
        State::Declined { code } => ("declined", Some(code), None),
        State::Unknown => ("unknown", None, None),
        State::Cancelled => ("cancelled", None, None),
    }
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
