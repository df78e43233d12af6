//! The tables `reservation` and `reservation_line`.

use chrono::{DateTime, Utc};
use contracts::OrderId;
use database::functions::{clock_timestamp, statement_timestamp};
use database::{
    Addable, Aggregate, Connection, InsertRows, Locked, Result, Tx, UpdateRows, Write, unreadable,
};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use envelope::TenantId;
use futures_util::try_join;
use uuid::Uuid;

use crate::domain::{Reservation, ReservationLine, State};
use crate::schema::{reservation, reservation_line as line};

/// The reservation of an order with its lines.
#[derive(Debug, Clone)]
pub(crate) struct ReservationRow {
    pub(crate) order: OrderId,
    pub(crate) tenant: TenantId,
    pub(crate) reservation: Reservation,
    /// The number of events that the reservation has announced.
    pub(crate) sequence: i64,
    updated_at: DateTime<Utc>,
}

/// Batches lock reservations in the order of their orders' ids, and items after them.
impl Aggregate for ReservationRow {
    type Key = OrderId;

    fn key(&self) -> OrderId {
        self.order
    }

    async fn load(tx: &Tx, orders: &[OrderId]) -> Result<Vec<(Self, DateTime<Utc>)>> {
        let ids: Vec<Uuid> = orders.iter().copied().map(OrderId::uuid).collect();
        let held = reservation::table.filter(reservation::order_id.eq_any(&ids)).order(reservation::order_id);
        let held = held.select((Columns::as_select(), clock_timestamp())).for_update();
        // Lines never change, so they need no lock.
        let lines = line::table.filter(line::order_id.eq_any(&ids)).order((line::order_id, line::sku));
        let lines = lines.select((line::order_id, (line::item_id, line::sku, line::quantity)));
        let (mut one, mut other) = (tx, tx); // in one round trip
        let (held, lines) = try_join!(held.load(&mut one), lines.load::<(Uuid, LineColumns)>(&mut other))?;
        let lines_of =
            |order| lines.iter().filter(move |(of, _)| *of == order).map(|(_, line)| read_line(line));
        let row = |(columns, at): (Columns, _)| {
            let lines = lines_of(columns.order_id).collect::<Result<_>>()?;
            Ok((columns.with(lines)?, at))
        };
        held.into_iter().map(row).collect()
    }

    fn updates(changed: Vec<Self>) -> Vec<Write> {
        let update = UpdateRows::new(reservation::table, changed)
            .key(reservation::order_id, |row| row.order.uuid())
            .column(reservation::state, |row| row.reservation.state)
            .column(reservation::sequence, |row| row.sequence)
            .column(reservation::updated_at, |row| row.updated_at);
        vec![Write::new(update)]
    }
}

impl Addable for ReservationRow {
    fn inserts(added: Vec<Self>) -> Vec<Write> {
        let lines_of = |row: &Self| {
            let (order, tenant) = (row.order, row.tenant.clone());
            row.reservation.lines.clone().into_iter().map(move |line| (order, tenant.clone(), line))
        };
        let lines = added.iter().flat_map(lines_of).collect();
        let reservations = InsertRows::new(reservation::table, added)
            .column(reservation::order_id, |row| row.order.uuid())
            .column(reservation::tenant_id, |row| row.tenant.to_string())
            .column(reservation::state, |row| row.reservation.state)
            .column(reservation::sequence, |row| row.sequence)
            .all(reservation::created_at, statement_timestamp())
            .all(reservation::updated_at, statement_timestamp());
        let lines = InsertRows::new(line::table, lines)
            .column(line::order_id, |(order, ..)| order.uuid())
            .column(line::tenant_id, |(_, tenant, _)| tenant.to_string())
            .column(line::item_id, |(.., line)| line.item.uuid())
            .column(line::sku, |(.., line)| line.sku.to_string())
            .column(line::quantity, |(.., line)| line.quantity);
        vec![Write::new(reservations), Write::new(lines)]
    }
}

/// The columns of a reservation without its lines.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = reservation)]
struct Columns {
    order_id: Uuid,
    tenant_id: String,
    state: State,
    sequence: i64,
    updated_at: DateTime<Utc>,
}

impl Columns {
    fn with(self, lines: Vec<ReservationLine>) -> Result<ReservationRow> {
        let Self { order_id, tenant_id, state, sequence, updated_at } = self;
        Ok(ReservationRow {
            order: order_id.into(),
            tenant: tenant_id.parse().map_err(|_| unreadable("reservation.tenant_id"))?,
            reservation: Reservation { state, lines },
            sequence,
            updated_at,
        })
    }
}

/// Item, SKU, quantity.
type LineColumns = (Uuid, String, i64);

fn read_line((item, sku, quantity): &LineColumns) -> Result<ReservationLine> {
    let sku = sku.parse().map_err(|_| unreadable("reservation_line.sku"))?;
    Ok(ReservationLine { item: (*item).into(), sku, quantity: *quantity })
}

/// Adds a held reservation.
pub(crate) fn add(
    tx: &mut Tx,
    tenant: &TenantId,
    order: OrderId,
    lines: Vec<ReservationLine>,
    at: DateTime<Utc>,
) -> Locked<ReservationRow> {
    let reservation = Reservation { state: State::Held, lines };
    tx.add(ReservationRow { order, tenant: tenant.clone(), reservation, sequence: 1, updated_at: at }, at)
}

/// Ends a held reservation.
pub(crate) fn end(tx: &mut Tx, held: Locked<ReservationRow>, state: State) -> Locked<ReservationRow> {
    held.change(tx, |row, at| {
        row.reservation.state = state;
        row.sequence += 1;
        row.updated_at = at;
    })
}

/// Returns the reservation of an order of this tenant and its version. An order whose stock was rejected has none.
pub(crate) async fn find(
    connection: &mut Connection,
    tenant: &TenantId,
    order: OrderId,
) -> Result<Option<(Reservation, i64)>> {
    let found: Vec<(Columns, LineColumns)> = reservation::table
        .inner_join(line::table)
        .filter(reservation::order_id.eq(order.uuid()))
        .filter(reservation::tenant_id.eq(tenant.as_str()))
        .order(line::sku)
        .select((Columns::as_select(), (line::item_id, line::sku, line::quantity)))
        .load(connection)
        .await?;
    let lines = found.iter().map(|(_, line)| read_line(line)).collect::<Result<_>>()?;
    let row = found.into_iter().next().map(|(columns, _)| columns.with(lines)).transpose()?;
    Ok(row.map(|row| (row.reservation, row.sequence)))
}
