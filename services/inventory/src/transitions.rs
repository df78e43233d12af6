//! Every change of items, stock and reservations: lock the rows, decide, write, announce.
//!
//! No other module changes these tables. Rows, movements and events are written in the caller's transaction: all of
//! them or none. Callers write what only they know, such as the audit fact of a request.

use contracts::events::{ItemChanged, StockRejected, StockReleased, StockReserved, StockShipped};
use contracts::{ItemId, OrderId, Sku};
use database::{Locked, Tx};
use edge::{CommandError, Precondition, Problem, problem_types};
use envelope::{Event, TenantId};
use inbox::HandlerError;
use uuid::Uuid;

use crate::domain::{
    self, Decision, Inconsistency, Input, ItemDetails, ReservationLine, State, Stock, Stocks, decide,
};
use crate::store::items::{self, ItemRow};
use crate::store::movements;
use crate::store::reservations::{self, ReservationRow};
use crate::store::stock::{self, StockRow};

/// The result of [`put_item`].
pub(crate) enum PutItem {
    /// Inserted the item, and announced it.
    Created(ItemRow),
    /// Changed name or price, and announced it.
    Changed(ItemRow),
    /// Nothing: the item has this name and price already.
    Unchanged(ItemRow),
}

/// Creates an item, or changes its name and price. `If-Match` is checked before a change, and not if there is none.
pub(crate) async fn put_item(
    tx: &mut Tx,
    tenant: &TenantId,
    sku: &Sku,
    details: &ItemDetails,
    precondition: &Precondition,
) -> Result<PutItem, CommandError> {
    if let Some(row) = items::insert(tx, tenant, sku, details).await? {
        precondition.require(None)?;
        announce_item(tx, tenant, &row)?;
        return Ok(PutItem::Created(row));
    }
    // Items are never deleted, so this one exists.
    let not_found = || CommandError::Refused(Problem::not_found("item"));
    let row = items::lock(tx, tenant, sku).await?.ok_or_else(not_found)?;
    precondition.exclude(row.version)?;
    if row.details()? == *details {
        return Ok(PutItem::Unchanged(row));
    }
    precondition.require(Some(row.version))?;
    let row = items::update_details(tx, row.id(), details, row.version + 1).await?;
    announce_item(tx, tenant, &row)?;
    Ok(PutItem::Changed(row))
}

/// Announces an item with all its details, so that the newest message is sufficient.
fn announce_item(tx: &mut Tx, tenant: &TenantId, row: &ItemRow) -> Result<(), CommandError> {
    let (item, sku, version) = (row.id(), row.sku()?, row.version);
    let ItemDetails { name, unit_price } = row.details()?;
    outbox::append(tx, tenant, version, &ItemChanged { item, sku, name, unit_price, version })?;
    Ok(())
}

/// The movement that [`adjust_stock`] has recorded, and the stock after it.
pub(crate) struct Adjustment {
    pub(crate) id: Uuid,
    pub(crate) item: ItemId,
    pub(crate) stock: Stock,
}

/// Changes the stock of an item and records the movement. Stock is not announced: other services do not need it.
pub(crate) async fn adjust_stock(
    tx: &mut Tx,
    tenant: &TenantId,
    sku: &Sku,
    delta: i64,
    reason: &str,
) -> Result<Adjustment, CommandError> {
    let not_found = || {
        let detail = format!("There is no item {sku}. Create the item, then adjust it with a new key.");
        CommandError::rejected(&problem_types::NOT_FOUND, detail)
    };
    let item = ItemId::of(tenant, sku);
    let row = tx.lock::<StockRow>(item).await?.ok_or_else(not_found)?;
    let stock = row.stock().adjust(delta)?;
    stock::set(tx, vec![row], &Stocks::from([(item, stock)]));
    let id = movements::record_adjustment(tx, tenant, item, delta, reason).await?;
    Ok(Adjustment { id, item, stock })
}

/// Applies an event of `orders` to the reservation of its order.
#[tracing::instrument(name = "transition", skip_all, fields(%order))]
pub(crate) async fn apply(
    tx: &mut Tx,
    tenant: &TenantId,
    order: OrderId,
    input: Input,
) -> Result<(), HandlerError> {
    let stored = tx.lock::<ReservationRow>(order).await?;
    if stored.as_ref().is_some_and(|stored| stored.tenant != *tenant) {
        return Err(HandlerError::Refused(format!("order {order} is not an order of {tenant}")));
    }
    let reservation = stored.as_ref().map(|stored| stored.reservation.clone());
    match (decide(reservation, input)?, stored) {
        (Decision::Reserve(lines), _) => reserve(tx, tenant, order, lines).await,
        (Decision::Ship(lines), Some(held)) => ship(tx, held, &lines).await,
        (Decision::Release(lines), Some(held)) => release(tx, held, &lines).await,
        (Decision::NoChange, _) => Ok(()),
        (Decision::Ship(_) | Decision::Release(_), None) => Err(Inconsistency::NothingHeld.into()),
    }
}

async fn reserve(
    tx: &mut Tx,
    tenant: &TenantId,
    order: OrderId,
    lines: Vec<ReservationLine>,
) -> Result<(), HandlerError> {
    let locked = lock_stock(tx, &lines).await?;
    match (domain::reserve(&lines, &stock::stocks(&locked)), locked.first().map(Locked::at)) {
        (Ok(stocks), Some(at)) => {
            stock::set(tx, locked, &stocks);
            let sequence = reservations::add(tx, tenant, order, lines, at).sequence;
            announce(tx, tenant, sequence, &StockReserved { order })
        }
        // A rejected order has no reservation, and this is the only event about its stock.
        (Err(missing), _) => announce(tx, tenant, 1, &StockRejected { order, missing }),
        (Ok(_), None) => Err(Inconsistency::OrderLines.into()),
    }
}

async fn ship(
    tx: &mut Tx,
    held: Locked<ReservationRow>,
    lines: &[ReservationLine],
) -> Result<(), HandlerError> {
    let locked = lock_stock(tx, lines).await?;
    let stocks = domain::ship(lines, &stock::stocks(&locked))?;
    stock::set(tx, locked, &stocks);
    let shipped = reservations::end(tx, held, State::Shipped);
    let (tenant, order) = (&shipped.tenant, shipped.order);
    movements::record_shipment(tx, tenant, order, lines);
    announce(tx, tenant, shipped.sequence, &StockShipped { order })
}

async fn release(
    tx: &mut Tx,
    held: Locked<ReservationRow>,
    lines: &[ReservationLine],
) -> Result<(), HandlerError> {
    let locked = lock_stock(tx, lines).await?;
    let stocks = domain::release(lines, &stock::stocks(&locked))?;
    stock::set(tx, locked, &stocks);
    let released = reservations::end(tx, held, State::Released);
    announce(tx, &released.tenant, released.sequence, &StockReleased { order: released.order })
}

async fn lock_stock(tx: &mut Tx, lines: &[ReservationLine]) -> database::Result<Vec<Locked<StockRow>>> {
    stock::lock(tx, lines.iter().map(|line| line.item)).await
}

fn announce<E: Event>(tx: &mut Tx, tenant: &TenantId, sequence: i64, event: &E) -> Result<(), HandlerError> {
    outbox::append(tx, tenant, sequence, event)?;
    Ok(())
}
