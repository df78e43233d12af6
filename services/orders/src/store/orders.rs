//! The table `orders`.

use std::mem::take;

use chrono::{DateTime, Utc};
use contracts::events::CancelReason;
use contracts::{Money, OrderId, PaymentId, Sku};
use database::functions::{clock_timestamp, present_time};
use database::{
    Aggregate, Buffered, Connection, InsertRows, Locked, Result, Tx, UnitOfWork, UpdateRows, Write,
    unreadable,
};
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel_async::{AsyncConnectionCore, RunQueryDsl};
use envelope::{Caller, TenantId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::domain::{PricedLine, PricedOrder, State, Status};
use crate::schema::orders;

/// A stored order.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = orders)]
pub(crate) struct OrderRow {
    pub(crate) id: Uuid,
    tenant_id: String,
    state: Status,
    cancel_reason: Option<String>,
    cancel_note: Option<String>,
    lines: Value,
    amount: i64,
    currency: String,
    pub(crate) payment_method: String,
    pub(crate) reference: Option<String>,
    payment_id: Option<Uuid>,
    /// The number of events that the order has announced; also its version.
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
        Ok(match self.state {
            Status::Pending => State::Pending,
            Status::AwaitingPayment => State::AwaitingPayment,
            Status::Confirmed => State::Confirmed,
            Status::Cancelled => {
                let reason = match self.cancel_reason.as_deref() {
                    Some("rejected") => CancelReason::Rejected,
                    Some("declined") => CancelReason::Declined,
                    Some("expired") => CancelReason::Expired,
                    Some("customer") => CancelReason::Customer,
                    _ => return Err(unreadable("orders.cancel_reason")),
                };
                State::Cancelled { reason, note: self.cancel_note.clone() }
            }
        })
    }

    pub(crate) fn lines(&self) -> Result<Vec<StoredLine>> {
        serde_json::from_value(self.lines.clone()).map_err(|_| unreadable("orders.lines"))
    }

    pub(crate) fn total(&self) -> Result<Money> {
        Ok(Money::new(self.amount, self.currency.parse().map_err(|_| unreadable("orders.currency"))?))
    }

    /// The payment, once it was requested.
    pub(crate) fn payment(&self) -> Option<PaymentId> {
        self.payment_id.map(PaymentId::from)
    }

    /// The payment of an order in a state that has one.
    pub(crate) fn required_payment(&self) -> Result<PaymentId> {
        self.payment().ok_or_else(|| unreadable("orders.payment_id"))
    }

    pub(crate) fn due_position(&self) -> DuePosition {
        DuePosition { expires_at: self.expires_at, id: self.id }
    }
}

/// The columns `cancel_reason` and `cancel_note`.
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

/// A line in the JSON array of the column `lines`.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredLine {
    pub(crate) sku: Sku,
    pub(crate) quantity: i64,
    pub(crate) unit_price: Money,
}

/// The columns of a new order.
pub(crate) struct NewOrder<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) priced: PricedOrder,
    pub(crate) payment_method: &'a str,
    pub(crate) reference: Option<&'a str>,
    /// By the database's clock.
    pub(crate) placed_at: DateTime<Utc>,
    pub(crate) expires_at: DateTime<Utc>,
}

/// Adds a new order at sequence 1. The row is written at the end of the transaction, together with its event.
pub(crate) fn insert(unit: &mut impl UnitOfWork, id: OrderId, new: &NewOrder<'_>) -> Result<OrderRow> {
    let line = |line: &PricedLine| StoredLine {
        sku: line.sku.clone(),
        quantity: line.quantity,
        unit_price: line.unit_price,
    };
    let lines: Vec<StoredLine> = new.priced.lines.iter().map(line).collect();
    let row = OrderRow {
        id: id.uuid(),
        tenant_id: new.caller.tenant.to_string(),
        state: Status::Pending,
        cancel_reason: None,
        cancel_note: None,
        lines: serde_json::to_value(lines)
            .map_err(|e| diesel::result::Error::SerializationError(e.into()))?,
        amount: new.priced.total.amount,
        currency: new.priced.total.currency.code().to_owned(),
        payment_method: new.payment_method.to_owned(),
        reference: new.reference.map(str::to_owned),
        payment_id: None,
        sequence: 1,
        placed_at: new.placed_at,
        updated_at: new.placed_at,
        expires_at: new.expires_at,
    };
    unit.buffer(InsertedOrder { client_id: new.caller.client.to_string(), row: row.clone() });
    Ok(row)
}

/// An order that is not written yet.
struct InsertedOrder {
    client_id: String,
    row: OrderRow,
}

impl Buffered for InsertedOrder {
    fn writes(rows: Vec<Self>) -> Vec<Write> {
        let insert = InsertRows::new(orders::table, rows)
            .column(orders::id, |new| new.row.id)
            .column(orders::tenant_id, |new| take(&mut new.row.tenant_id))
            .column(orders::client_id, |new| take(&mut new.client_id))
            .column(orders::state, |new| new.row.state)
            .column(orders::lines, |new| new.row.lines.take())
            .column(orders::amount, |new| new.row.amount)
            .column(orders::currency, |new| take(&mut new.row.currency))
            .column(orders::payment_method, |new| take(&mut new.row.payment_method))
            .column(orders::reference, |new| new.row.reference.take())
            .column(orders::sequence, |new| new.row.sequence)
            .column(orders::placed_at, |new| new.row.placed_at)
            .column(orders::updated_at, |new| new.row.updated_at)
            .column(orders::expires_at, |new| new.row.expires_at);
        vec![Write::new(insert)]
    }
}

/// Batches lock orders in the order of their ids, so they do not deadlock.
impl Aggregate for OrderRow {
    type Key = OrderId;

    fn key(&self) -> OrderId {
        self.id()
    }

    async fn load(mut tx: &Tx, orders: &[OrderId]) -> Result<Vec<(Self, DateTime<Utc>)>> {
        let ids: Vec<Uuid> = orders.iter().copied().map(OrderId::uuid).collect();
        let rows = orders::table
            .filter(orders::id.eq_any(ids))
            .order(orders::id)
            .select((Self::as_select(), clock_timestamp()))
            .for_update()
            .load(&mut tx)
            .await?;
        Ok(rows)
    }

    fn updates(changed: Vec<Self>) -> Vec<Write> {
        let update = UpdateRows::new(orders::table, changed)
            .key(orders::id, |row| row.id)
            .column(orders::state, |row| row.state)
            .column(orders::cancel_reason, |row| row.cancel_reason.take())
            .column(orders::cancel_note, |row| row.cancel_note.take())
            .column(orders::payment_id, |row| row.payment_id)
            .column(orders::sequence, |row| row.sequence)
            .column(orders::updated_at, |row| row.updated_at);
        vec![Write::new(update)]
    }
}

/// Locks and returns one order of this tenant.
pub(crate) async fn lock(tx: &mut Tx, tenant: &TenantId, id: OrderId) -> Result<Option<Locked<OrderRow>>> {
    Ok(tx.lock::<OrderRow>(id).await?.filter(|order| order.tenant_id == tenant.as_str()))
}

/// The place of an order among the due ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DuePosition {
    expires_at: DateTime<Utc>,
    id: Uuid,
}

/// Locks and returns open orders whose time has passed by the database's clock, the longest overdue first. Skips
/// orders that another transaction has locked, and all up to and including `after`.
pub(crate) async fn lock_due(
    tx: &mut Tx,
    after: Option<DuePosition>,
    limit: i64,
) -> Result<Vec<Locked<OrderRow>>> {
    let DuePosition { expires_at, id } =
        after.unwrap_or(DuePosition { expires_at: DateTime::UNIX_EPOCH, id: Uuid::nil() });
    let rows = orders::table
        .filter(orders::is_open)
        .filter(orders::expires_at.nullable().le(present_time()))
        .filter(orders::expires_at.ge(expires_at))
        .filter(orders::expires_at.gt(expires_at).or(orders::id.gt(id)))
        .order((orders::expires_at, orders::id))
        .limit(limit)
        .select((OrderRow::as_select(), clock_timestamp()))
        .for_update()
        .skip_locked()
        .load(tx)
        .await?;
    Ok(tx.adopt(rows))
}

/// The order with this id or with this payment, of any tenant.
pub(crate) async fn find_by_order_or_payment<C>(
    connection: &mut C,
    order_or_payment: Uuid,
) -> Result<Option<OrderRow>>
where
    C: AsyncConnectionCore<Backend = Pg>,
{
    let row = orders::table
        .filter(orders::id.eq(order_or_payment).or(orders::payment_id.eq(order_or_payment)))
        .select(OrderRow::as_select())
        .first(connection)
        .await
        .optional()?;
    Ok(row)
}

/// Gives an order a new state, and a payment if there is a new one. Raises its sequence by one.
pub(crate) fn change(
    tx: &mut Tx,
    order: Locked<OrderRow>,
    state: &State,
    new_payment: Option<PaymentId>,
) -> Locked<OrderRow> {
    order.change(tx, |row, at| {
        let (reason, note) = cancellation(state);
        row.state = Status::from(state);
        row.cancel_reason = reason.map(str::to_owned);
        row.cancel_note = note.map(str::to_owned);
        row.payment_id = new_payment.map(PaymentId::uuid).or(row.payment_id);
        row.sequence += 1;
        row.updated_at = at;
    })
}

/// Returns one order of this tenant.
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

/// Returns this tenant's orders with an id below `before`, newest first: all of them, or those with this reference and status.
pub(crate) async fn list(
    connection: &mut Connection,
    tenant: &TenantId,
    (reference, status): (Option<&str>, Option<Status>),
    before: Uuid,
    limit: i64,
) -> Result<Vec<OrderRow>> {
    let mut rows = orders::table
        .filter(orders::tenant_id.eq(tenant.as_str()))
        .filter(orders::id.lt(before))
        .order(orders::id.desc())
        .limit(limit)
        .select(OrderRow::as_select())
        .into_boxed();
    if let Some(reference) = reference {
        rows = rows.filter(orders::reference.eq(reference));
    }
    if let Some(status) = status {
        rows = rows.filter(orders::state.eq(status));
    }
    Ok(rows.load(connection).await?)
}
