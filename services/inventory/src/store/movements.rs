//! The table `stock_movement`: every change of `on_hand`, inserted with the change and never updated.
//!
//! Because `on_hand` is the sum of the movements of its item, an audit can check one against the other.

use contracts::{ItemId, OrderId, TenantId};
use database::{Result, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use futures_util::future::try_join_all;
use uuid::Uuid;

use crate::domain::ReservationLine;
use crate::schema::stock_movement as movement;

/// Records an adjustment. Returns the movement's id.
pub(crate) async fn record_adjustment(
    tx: &mut Tx,
    tenant: &TenantId,
    item: ItemId,
    delta: i64,
    reason: &str,
) -> Result<Uuid> {
    let id = Uuid::now_v7();
    diesel::insert_into(movement::table)
        .values((
            movement::id.eq(id),
            movement::tenant_id.eq(tenant.as_str()),
            movement::item_id.eq(item.uuid()),
            movement::kind.eq("adjustment"),
            movement::delta.eq(delta),
            movement::reason.eq(reason),
        ))
        .execute(tx)
        .await?;
    Ok(id)
}

/// Records the shipment of an order's lines, in one round trip for all.
pub(crate) async fn record_shipment(
    tx: &mut Tx,
    tenant: &TenantId,
    order: OrderId,
    lines: &[ReservationLine],
) -> Result<()> {
    let tx: &Tx = tx;
    let record = lines.iter().map(async |line| {
        diesel::insert_into(movement::table)
            .values((
                movement::id.eq(Uuid::now_v7()),
                movement::tenant_id.eq(tenant.as_str()),
                movement::item_id.eq(line.item.uuid()),
                movement::kind.eq("shipment"),
                movement::delta.eq(-line.quantity),
                movement::order_id.eq(order.uuid()),
            ))
            .execute(&mut &*tx)
            .await
    });
    try_join_all(record).await?;
    Ok(())
}
