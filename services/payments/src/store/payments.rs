//! The payments' rows.

use chrono::{DateTime, Utc};
use contracts::{Money, OperationId, OrderId, PaymentId, TenantId};
use database::functions::clock_timestamp;
use database::{Connection, Result, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use edge::Page;
use uuid::Uuid;

use super::unreadable;
use crate::domain::payment::{Payment, State};
use crate::domain::{Fee, ProcessorReference};
use crate::schema::payment;

/// A payment as it is stored.
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
    /// Its order is confirmed.
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

    /// The command that wants it; `None` if a message does.
    pub(crate) fn operation(&self) -> Option<OperationId> {
        self.operation_id.map(OperationId::from)
    }

    pub(crate) fn amount(&self) -> Result<Money> {
        self.in_its_currency(self.amount)
    }

    pub(crate) fn in_its_currency(&self, amount: i64) -> Result<Money> {
        let currency = self.currency.parse().map_err(|_| unreadable("payment.currency"))?;
        Ok(Money::new(amount, currency))
    }

    /// What the processor keeps of it, once that is known.
    fn fee(&self) -> Result<Option<Fee>> {
        let (Some(amount), Some(currency), Some(balance_transaction)) =
            (self.fee, &self.fee_currency, &self.fee_transaction)
        else {
            return Ok(None);
        };
        let currency = currency.parse().map_err(|_| unreadable("payment.fee_currency"))?;
        Ok(Some(Fee { balance_transaction: balance_transaction.clone(), amount, currency }))
    }

    /// What a decision needs.
    pub(crate) fn payment(&self) -> Result<Payment> {
        Ok(Payment { state: self.state()?, cancel_requested: self.cancel_requested })
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
                    fee: self.fee()?,
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

/// A payment that is asked for.
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

/// Inserts it, unless the payment, or one for the order, is there.
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

/// Locks the payments of these orders, in one order for everybody.
pub(crate) async fn lock_of_orders(tx: &mut Tx, orders: &[Uuid]) -> Result<()> {
    let rows = payment::table.filter(payment::order_id.eq_any(orders)).order(payment::order_id);
    rows.select(payment::id).for_update().execute(tx).await?;
    Ok(())
}

/// Locks the payment of an order, if it has one. It may be another tenant's than the caller expects: none and a
/// stranger's are not the same.
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

/// Locks a payment that is there.
pub(crate) async fn lock(tx: &mut Tx, id: PaymentId) -> Result<PaymentRow> {
    let row = payment::table.find(id.uuid()).select(PaymentRow::as_select()).for_update();
    Ok(row.first(tx).await?)
}

/// Locks a payment of this tenant, if it is one.
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

/// Locks the payment that this command wants, if it wants one.
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

/// Claims so much of its money for a refund. The row is locked; the database refuses more than was captured all the
/// same.
pub(crate) async fn reserve(tx: &mut Tx, id: PaymentId, amount: i64) -> Result<()> {
    let claimed = payment::refund_reserved.eq(payment::refund_reserved + amount);
    diesel::update(payment::table.find(id.uuid()))
        .set((claimed, payment::updated_at.eq(clock_timestamp())))
        .execute(tx)
        .await?;
    Ok(())
}

/// What a decision has changed.
pub(crate) struct Change<'a> {
    pub(crate) payment: &'a Payment,
    pub(crate) refund_reserved: i64,
    pub(crate) sequence: i64,
}

/// Writes it. The row is locked.
pub(crate) async fn update(tx: &mut Tx, id: PaymentId, change: &Change<'_>) -> Result<()> {
    let (state, code, receipt) = columns_of(&change.payment.state);
    let fee = receipt.and_then(|receipt| receipt.fee.as_ref());
    diesel::update(payment::table.find(id.uuid()))
        .set((
            payment::state.eq(state),
            payment::cancel_requested.eq(change.payment.cancel_requested),
            payment::decline_code.eq(code),
            payment::processor_intent.eq(receipt.map(|receipt| &receipt.id)),
            payment::processor_charge.eq(receipt.and_then(|receipt| receipt.charge.as_ref())),
            payment::fee.eq(fee.map(|fee| fee.amount)),
            payment::fee_currency.eq(fee.map(|fee| fee.currency.code())),
            payment::fee_transaction.eq(fee.map(|fee| &fee.balance_transaction)),
            payment::refund_reserved.eq(change.refund_reserved),
            payment::sequence.eq(change.sequence),
            payment::updated_at.eq(clock_timestamp()),
        ))
        .execute(tx)
        .await?;
    Ok(())
}

/// Its order is confirmed. The row is locked.
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
        State::Captured(receipt) => ("captured", None, Some(receipt)),
        State::Declined { code } => ("declined", Some(code), None),
        State::Unknown => ("unknown", None, None),
        State::Cancelled => ("cancelled", None, None),
    }
}

/// One payment of this tenant.
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

/// A page of this tenant's payments, newest first.
pub(crate) async fn list(
    connection: &mut Connection,
    tenant: &TenantId,
    page: &Page,
) -> Result<Vec<PaymentRow>> {
    let rows = payment::table
        .filter(payment::tenant_id.eq(tenant.as_str()))
        .filter(payment::id.lt(page.before()))
        .order(payment::id.desc())
        .limit(page.fetch())
        .select(PaymentRow::as_select())
        .load(connection)
        .await?;
    Ok(rows)
}
