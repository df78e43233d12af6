//! The tables `reservation` and `reservation_line`.

use contracts::{ItemId, OrderId, TenantId};
use database::functions::clock_timestamp;
use database::{Connection, Result, Tx};
use diesel::dsl::auto_type;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::try_join_all;
use uuid::Uuid;

use super::unreadable;
use crate::domain::{Reservation, ReservationLine, State};
use crate::schema::{reservation, reservation_line as line};

/// State, sequence, item, SKU, quantity: one row for each line.
type Row = (State, i64, Uuid, String, i64);

#[auto_type]
#[expect(clippy::elidable_lifetime_names, reason = "auto_type repeats the name in the type that it writes")]
fn lines_of<'a>(tenant: &'a str, order: Uuid) -> _ {
    reservation::table
        .inner_join(line::table)
        .filter(reservation::order_id.eq(order))
        .filter(reservation::tenant_id.eq(tenant))
        .order(line::sku)
        .select((reservation::state, reservation::sequence, line::item_id, line::sku, line::quantity))
}

/// Returns the reservation of an order of this tenant. An order whose stock was rejected has none.
pub(crate) async fn find(tx: &mut Tx, tenant: &TenantId, order: OrderId) -> Result<Option<Reservation>> {
    let found = read(lines_of(tenant.as_str(), order.uuid()).load(tx).await?)?;
    Ok(found.map(|(reservation, _)| reservation))
}

/// Returns the reservation of an order of this tenant and its version, outside a unit of work.
pub(crate) async fn find_with_version(
    connection: &mut Connection,
    tenant: &TenantId,
    order: OrderId,
) -> Result<Option<(Reservation, i64)>> {
    read(lines_of(tenant.as_str(), order.uuid()).load(connection).await?)
}

fn read(rows: Vec<Row>) -> Result<Option<(Reservation, i64)>> {
    let Some((state, version, ..)) = rows.as_slice().first() else { return Ok(None) };
    let (state, version) = (*state, *version);
    let line = |(_, _, item, sku, quantity): Row| {
        let sku = sku.parse().map_err(|_| unreadable("reservation_line.sku"))?;
        Ok(ReservationLine { item: item.into(), sku, quantity })
    };
    let lines = rows.into_iter().map(line).collect::<Result<_>>()?;
    Ok(Some((Reservation { state, lines }, version)))
}

/// Returns tenant and state of the order's reservation, of any tenant. Distinguishes "no reservation" from "a reservation
/// of another tenant".
pub(crate) async fn find_of_any_tenant(tx: &mut Tx, order: OrderId) -> Result<Option<(TenantId, State)>> {
    let row = reservation::table.find(order.uuid()).select((reservation::tenant_id, reservation::state));
    let row: Option<(String, State)> = row.first(tx).await.optional()?;
    let Some((tenant, state)) = row else { return Ok(None) };
    Ok(Some((tenant.parse().map_err(|_| unreadable("reservation.tenant_id"))?, state)))
}

/// Locks the reservations of these orders in the order of their ids. Returns the items of their lines.
pub(crate) async fn lock(tx: &mut Tx, orders: &[OrderId]) -> Result<Vec<ItemId>> {
    let ids: Vec<Uuid> = orders.iter().copied().map(OrderId::uuid).collect();
    reservation::table
        .filter(reservation::order_id.eq_any(&ids))
        .order(reservation::order_id)
        .select(reservation::order_id)
        .for_update()
        .execute(tx)
        .await?;
    let items: Vec<Uuid> =
        line::table.filter(line::order_id.eq_any(&ids)).select(line::item_id).load(tx).await?;
    Ok(items.into_iter().map(ItemId::from).collect())
}

/// Inserts a held reservation with its lines. Returns the sequence for its event.
pub(crate) async fn insert(
    tx: &mut Tx,
    tenant: &TenantId,
    order: OrderId,
    lines: &[ReservationLine],
) -> Result<i64> {
    let sequence = diesel::insert_into(reservation::table)
        .values((
            reservation::order_id.eq(order.uuid()),
            reservation::tenant_id.eq(tenant.as_str()),
            reservation::state.eq(State::Held),
            reservation::sequence.eq(1),
        ))
        .returning(reservation::sequence)
        .get_result(tx)
        .await?;
    let tx: &Tx = tx;
    let insert = lines.iter().map(async |line| {
        diesel::insert_into(line::table)
            .values((
                line::order_id.eq(order.uuid()),
                line::item_id.eq(line.item.uuid()),
                line::tenant_id.eq(tenant.as_str()),
                line::sku.eq(line.sku.as_str()),
                line::quantity.eq(line.quantity),
            ))
            .execute(&mut &*tx)
            .await
    });
    try_join_all(insert).await?;
    Ok(sequence)
}

/// Ends a held reservation. Returns the sequence for its event.
pub(crate) async fn end(tx: &mut Tx, tenant: &TenantId, order: OrderId, state: State) -> Result<i64> {
    let held = reservation::table
        .find(order.uuid())
        .filter(reservation::tenant_id.eq(tenant.as_str()))
        .filter(reservation::state.eq(State::Held));
    let sequence = diesel::update(held)
        .set((
            reservation::state.eq(state),
            reservation::sequence.eq(reservation::sequence + 1),
            reservation::updated_at.eq(clock_timestamp()),
        ))
        .returning(reservation::sequence)
        .get_result(tx)
        .await?;
    Ok(sequence)
}
