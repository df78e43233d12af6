//! The table `stock_movement`: every change of `on_hand`, inserted with the change and never updated.
//!
//! Because `on_hand` is the sum of the movements of its item, an audit can check one against the other.

use contracts::{ItemId, OrderId};
use database::functions::statement_timestamp;
use database::{Buffered, InsertRows, Result, Tx, UnitOfWork, Write};
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_async::RunQueryDsl;
use envelope::TenantId;
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

/// Records the shipment of an order's lines.
pub(crate) fn record_shipment(tx: &mut Tx, tenant: &TenantId, order: OrderId, lines: &[ReservationLine]) {
    for line in lines {
        let (tenant, item) = (tenant.clone(), line.item);
        tx.buffer(Shipment { order, tenant, item, quantity: line.quantity });
    }
}

/// The shipment of one line, not written yet.
struct Shipment {
    order: OrderId,
    tenant: TenantId,
    item: ItemId,
    quantity: i64,
}

impl Buffered for Shipment {
    fn writes(rows: Vec<Self>) -> Vec<Write> {
        let insert = InsertRows::new(movement::table, rows)
            .column(movement::id, |_| Uuid::now_v7())
            .column(movement::tenant_id, |row| row.tenant.to_string())
            .column(movement::item_id, |row| row.item.uuid())
            .all(movement::kind, "shipment".into_sql::<Text>())
            .column(movement::delta, |row| -row.quantity)
            .column(movement::order_id, |row| Some(row.order.uuid()))
            .all(movement::moved_at, statement_timestamp());
        vec![Write::new(insert)]
    }
}
