//! The orders' rows.

use std::mem::take;

use chrono::{DateTime, TimeDelta, Utc};
use contracts::events::CancelReason;
use contracts::{Caller, Money, OrderId, PaymentId, TenantId};
use database::functions::clock_timestamp;
use database::{Buffered, Connection, Insert, InsertRows, Result, Tx, UnitOfWork};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use edge::Page;
use serde_json::Value;
use uuid::Uuid;

use super::unreadable;
use crate::domain::{Placed, PlacedLine, State};
use crate::schema::orders;

/// An order as it is stored.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = orders)]
pub(crate) struct OrderRow {
    pub(crate) id: Uuid,
    tenant_id: String,
    state: String,
    cancel_reason: Option<String>,
    cancel_note: Option<String>,
    lines: Value,
    amount: i64,
    currency: String,
    pub(crate) payment_method: String,
    pub(crate) reference: Option<String>,
    pub(crate) payment_id: Option<Uuid>,
    pub(crate) sequence: i64,
    pub(crate) placed_at: DateTime<Utc>,
    pub(crate) updated_at: DateTime<Utc>,
    pub(crate) expires_at: DateTime<Utc>,
}

impl OrderRow {
    pub(crate) fn id(&self) -> OrderId {
        self.id.into()
    }

    pub(crate) fn tenant(&self) -> Result<TenantId> {
        self.tenant_id.parse().map_err(|_| unreadable("orders.tenant_id"))
    }

    pub(crate) fn state(&self) -> Result<State> {
        let reason = || match self.cancel_reason.as_deref() {
            Some("rejected") => Ok(CancelReason::Rejected),
            Some("declined") => Ok(CancelReason::Declined),
            Some("expired") => Ok(CancelReason::Expired),
            Some("customer") => Ok(CancelReason::Customer),
            _ => Err(unreadable("orders.cancel_reason")),
        };
        match self.state.as_str() {
            "pending" => Ok(State::Pending),
            "awaiting_payment" => Ok(State::AwaitingPayment),
            "confirmed" => Ok(State::Confirmed),
            "cancelled" => Ok(State::Cancelled { reason: reason()?, note: self.cancel_note.clone() }),
            _ => Err(unreadable("orders.state")),
        }
    }

    pub(crate) fn lines(&self) -> Result<Vec<PlacedLine>> {
        serde_json::from_value(self.lines.clone()).map_err(|_| unreadable("orders.lines"))
    }

    pub(crate) fn total(&self) -> Result<Money> {
        Ok(Money::new(self.amount, self.currency.parse().map_err(|_| unreadable("orders.currency"))?))
    }
}

/// A state, as the tables have it.
pub(super) const fn state_name(state: &State) -> &'static str {
    match state {
        State::Pending => "pending",
        State::AwaitingPayment => "awaiting_payment",
        State::Confirmed => "confirmed",
        State::Cancelled { .. } => "cancelled",
    }
}

fn cancellation(state: &State) -> (Option<&'static str>, Option<&str>) {
    match state {
        State::Pending | State::AwaitingPayment | State::Confirmed => (None, None),
        State::Cancelled { reason, note } => {
            let reason = match reason {
                CancelReason::Rejected => "rejected",
                CancelReason::Declined => "declined",
                CancelReason::Expired => "expired",
                CancelReason::Customer => "customer",
            };
            (Some(reason), note.as_deref())
        }
    }
}

/// What a new order needs beside its price.
pub(crate) struct Terms<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) payment_method: &'a str,
    pub(crate) reference: Option<&'a str>,
    /// By the database's clock.
    pub(crate) at: DateTime<Utc>,
    pub(crate) expires_in: TimeDelta,
}

/// A pending order that has told its first event; inserted with everything else that is written with it.
pub(crate) fn insert(unit: &mut impl UnitOfWork, placed: &Placed, terms: &Terms<'_>) -> Result<OrderRow> {
    let row = OrderRow {
        id: placed.id.uuid(),
        tenant_id: terms.caller.tenant.to_string(),
        state: state_name(&State::Pending).to_owned(),
        cancel_reason: None,
        cancel_note: None,
        lines: serde_json::to_value(&placed.lines).map_err(|_| unreadable("orders.lines"))?,
        amount: placed.total.amount,
        currency: placed.total.currency.code().to_owned(),
        payment_method: terms.payment_method.to_owned(),
        reference: terms.reference.map(str::to_owned),
        payment_id: None,
        sequence: 1,
        placed_at: terms.at,
        updated_at: terms.at,
        expires_at: terms.at + terms.expires_in,
    };
    unit.buffer(NewOrder { client_id: terms.caller.client.to_string(), row: row.clone() });
    Ok(row)
}

/// An order on its way into the table.
struct NewOrder {
    client_id: String,
    row: OrderRow,
}

impl Buffered for NewOrder {
    fn inserts(rows: Vec<Self>) -> Vec<Insert> {
        let insert = InsertRows::new(orders::table, rows)
            .column(orders::id, |new| new.row.id)
            .column(orders::tenant_id, |new| take(&mut new.row.tenant_id))
            .column(orders::client_id, |new| take(&mut new.client_id))
            .column(orders::state, |new| take(&mut new.row.state))
            .column(orders::lines, |new| new.row.lines.take())
            .column(orders::amount, |new| new.row.amount)
            .column(orders::currency, |new| take(&mut new.row.currency))
            .column(orders::payment_method, |new| take(&mut new.row.payment_method))
            .column(orders::reference, |new| new.row.reference.take())
            .column(orders::sequence, |new| new.row.sequence)
            .column(orders::placed_at, |new| new.row.placed_at)
            .column(orders::updated_at, |new| new.row.updated_at)
            .column(orders::expires_at, |new| new.row.expires_at);
        vec![Insert::new(insert)]
    }
}

/// Locks all of these orders, in one order for everybody.
pub(crate) async fn lock_all(tx: &mut Tx, ids: &[Uuid]) -> Result<()> {
    let locked =
        orders::table.filter(orders::id.eq_any(ids)).order(orders::id).select(orders::id).for_update();
    locked.execute(tx).await?;
    Ok(())
}

/// Locks one order of this tenant.
pub(crate) async fn lock(tx: &mut Tx, tenant: &TenantId, id: OrderId) -> Result<Option<OrderRow>> {
    let row = orders::table
        .find(id.uuid())
        .filter(orders::tenant_id.eq(tenant.as_str()))
        .select(OrderRow::as_select())
        .for_update()
        .first(tx)
        .await
        .optional()?;
    Ok(row)
}

/// The order with this id, or with this payment, whatever tenant it belongs to.
pub(crate) async fn find_of(tx: &mut Tx, order_or_payment: Uuid) -> Result<Option<OrderRow>> {
    let row = orders::table
        .filter(orders::id.eq(order_or_payment).or(orders::payment_id.eq(order_or_payment)))
        .select(OrderRow::as_select())
        .first(tx)
        .await
        .optional()?;
    Ok(row)
}

/// Writes what a decision has changed. The row is locked.
pub(crate) async fn update(
    tx: &mut Tx,
    id: OrderId,
    state: &State,
    payment: Option<PaymentId>,
    sequence: i64,
) -> Result<OrderRow> {
    let (reason, note) = cancellation(state);
    let row = diesel::update(orders::table.find(id.uuid()))
        .set((
            orders::state.eq(state_name(state)),
            orders::cancel_reason.eq(reason),
            orders::cancel_note.eq(note),
            orders::payment_id.eq(payment.map(PaymentId::uuid)),
            orders::sequence.eq(sequence),
            orders::updated_at.eq(clock_timestamp()),
        ))
        .returning(OrderRow::as_returning())
        .get_result(tx)
        .await?;
    Ok(row)
}

/// One order of this tenant.
pub(crate) async fn find(
    connection: &mut Connection,
    tenant: &TenantId,
    id: OrderId,
) -> Result<Option<OrderRow>> {
    let row = orders::table
        .find(id.uuid())
        .filter(orders::tenant_id.eq(tenant.as_str()))
        .select(OrderRow::as_select())
        .first(connection)
        .await
        .optional()?;
    Ok(row)
}

/// A page of this tenant's orders, newest first.
pub(crate) async fn list(
    connection: &mut Connection,
    tenant: &TenantId,
    page: &Page,
) -> Result<Vec<OrderRow>> {
    let rows = orders::table
        .filter(orders::tenant_id.eq(tenant.as_str()))
        .filter(orders::id.lt(page.before()))
        .order(orders::id.desc())
        .limit(page.fetch())
        .select(OrderRow::as_select())
        .load(connection)
        .await?;
    Ok(rows)
}

/// Open orders whose time is up, by the database's clock; the longest overdue first.
pub(crate) async fn due(connection: &mut Connection, limit: i64) -> Result<Vec<(TenantId, OrderId)>> {
    let rows: Vec<(String, Uuid)> = orders::table
        .filter(orders::state.eq_any(["pending", "awaiting_payment"]))
        .filter(orders::expires_at.le(clock_timestamp()))
        .order(orders::expires_at)
        .limit(limit)
        .select((orders::tenant_id, orders::id))
        .load(connection)
        .await?;
    let named = |(tenant, id): (String, Uuid)| {
        let tenant = tenant.parse().map_err(|_| unreadable("orders.tenant_id"))?;
        Ok((tenant, id.into()))
    };
    rows.into_iter().map(named).collect()
}

/// Whether an order's time is up. It never changes back: no lock is needed.
pub(crate) async fn is_due(tx: &mut Tx, id: OrderId) -> Result<bool> {
    let due = orders::table.find(id.uuid()).select(orders::expires_at.le(clock_timestamp()));
    Ok(due.get_result(tx).await.optional()?.unwrap_or(false))
}
