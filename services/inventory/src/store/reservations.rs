//! The reservations' rows, each with its lines.

use contracts::{ItemId, OrderId, TenantId};
use database::functions::clock_timestamp;
use database::{Connection, Result, Tx};
use diesel::dsl::auto_type;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::try_join_all;
use uuid::Uuid;

use super::unreadable;
use crate::domain::{Line, Reservation, State};
use crate::schema::{reservation, reservation_line as line};

const HELD: &str = "held";
const SHIPPED: &str = "shipped";
const RELEASED: &str = "released";

/// State, sequence, item, SKU, quantity: one row for each line.
type Row = (String, i64, Uuid, String, i64);

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

/// The reservation of an order of this tenant, if its stock was not refused.
pub(crate) async fn find(tx: &mut Tx, tenant: &TenantId, order: OrderId) -> Result<Option<Reservation>> {
    let found = read(lines_of(tenant.as_str(), order.uuid()).load(tx).await?)?;
    Ok(found.map(|(reservation, _)| reservation))
}

/// The same, outside a unit of work, with its version.
pub(crate) async fn look_up(
    connection: &mut Connection,
    tenant: &TenantId,
    order: OrderId,
) -> Result<Option<(Reservation, i64)>> {
    read(lines_of(tenant.as_str(), order.uuid()).load(connection).await?)
}

fn read(rows: Vec<Row>) -> Result<Option<(Reservation, i64)>> {
    let Some((state, version, ..)) = rows.as_slice().first() else { return Ok(None) };
    let version = *version;
    let state = match state.as_str() {
        HELD => State::Held,
        SHIPPED => State::Shipped,
        RELEASED => State::Released,
        _ => return Err(unreadable("reservation.state")),
    };
    let line = |(_, _, item, sku, quantity): Row| {
        let sku = sku.parse().map_err(|_| unreadable("reservation_line.sku"))?;
        Ok(Line { item: item.into(), sku, quantity })
    };
    let lines = rows.into_iter().map(line).collect::<Result<_>>()?;
    Ok(Some((Reservation { state, lines }, version)))
}

/// Who has a reservation, whatever tenant that is.
pub(crate) struct Holder {
    pub(crate) is_held: bool,
}

/// Whether an order of any tenant has a reservation: for who must not take a stranger's for none.
pub(crate) async fn holder(tx: &mut Tx, order: OrderId) -> Result<Option<Holder>> {
    let state: Option<String> =
        reservation::table.find(order.uuid()).select(reservation::state).first(tx).await.optional()?;
    Ok(state.map(|state| Holder { is_held: state == HELD }))
}

/// Locks the reservations of these orders, in one order for everybody. Returns the items they are about.
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

/// Inserts a held reservation. Returns how many events its history has now.
pub(crate) async fn hold(tx: &mut Tx, tenant: &TenantId, order: OrderId, lines: &[Line]) -> Result<i64> {
    let sequence = diesel::insert_into(reservation::table)
        .values((
            reservation::order_id.eq(order.uuid()),
            reservation::tenant_id.eq(tenant.as_str()),
            reservation::state.eq(HELD),
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

/// Ends a held reservation. Returns how many events its history has now.
pub(crate) async fn end(tx: &mut Tx, tenant: &TenantId, order: OrderId, state: State) -> Result<i64> {
    let name = match state {
        State::Held => HELD,
        State::Shipped => SHIPPED,
        State::Released => RELEASED,
    };
    let held = reservation::table
        .find(order.uuid())
        .filter(reservation::tenant_id.eq(tenant.as_str()))
        .filter(reservation::state.eq(HELD));
    let sequence = diesel::update(held)
        .set((
            reservation::state.eq(name),
            reservation::sequence.eq(reservation::sequence + 1),
            reservation::updated_at.eq(clock_timestamp()),
        ))
        .returning(reservation::sequence)
        .get_result(tx)
        .await?;
    Ok(sequence)
}
