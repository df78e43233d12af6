//! The table `item`: name, price and version. `stock` has its other columns.

use contracts::{ItemId, Money, Sku};
use database::functions::clock_timestamp;
use database::{Connection, Result, Tx, unreadable};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use envelope::TenantId;
use uuid::Uuid;

use crate::domain::{ItemDetails, Stock};
use crate::schema::item;

/// A stored item.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = item)]
pub(crate) struct ItemRow {
    id: Uuid,
    sku: String,
    name: String,
    unit_price: i64,
    currency: String,
    pub(crate) version: i64,
    on_hand: i64,
    reserved: i64,
    pub(crate) position: Uuid,
}

impl ItemRow {
    pub(crate) fn id(&self) -> ItemId {
        self.id.into()
    }

    pub(crate) fn sku(&self) -> Result<Sku> {
        self.sku.parse().map_err(|_| unreadable("item.sku"))
    }

    pub(crate) fn details(&self) -> Result<ItemDetails> {
        let currency = self.currency.parse().map_err(|_| unreadable("item.currency"))?;
        Ok(ItemDetails { name: self.name.clone(), unit_price: Money::new(self.unit_price, currency) })
    }

    pub(crate) fn stock(&self) -> Stock {
        Stock { on_hand: self.on_hand, reserved: self.reserved }
    }
}

/// Inserts an item without stock, at version 1. Returns `None` if the item exists already.
pub(crate) async fn insert(
    tx: &mut Tx,
    tenant: &TenantId,
    sku: &Sku,
    details: &ItemDetails,
) -> Result<Option<ItemRow>> {
    let row = diesel::insert_into(item::table)
        .values((
            item::id.eq(ItemId::of(tenant, sku).uuid()),
            item::tenant_id.eq(tenant.as_str()),
            item::sku.eq(sku.as_str()),
            item::name.eq(&details.name),
            item::unit_price.eq(details.unit_price.amount),
            item::currency.eq(details.unit_price.currency.code()),
            item::version.eq(1),
            item::position.eq(Uuid::now_v7()),
        ))
        .on_conflict_do_nothing()
        .returning(ItemRow::as_returning())
        .get_result(tx)
        .await
        .optional()?;
    Ok(row)
}

/// Locks and returns one item of this tenant.
pub(crate) async fn lock(tx: &mut Tx, tenant: &TenantId, sku: &Sku) -> Result<Option<ItemRow>> {
    let row = item::table
        .filter(item::tenant_id.eq(tenant.as_str()))
        .filter(item::sku.eq(sku.as_str()))
        .select(ItemRow::as_select())
        .for_update()
        .first(tx)
        .await
        .optional()?;
    Ok(row)
}

/// Writes new details and their version to a locked item.
pub(crate) async fn update_details(
    tx: &mut Tx,
    id: ItemId,
    details: &ItemDetails,
    version: i64,
) -> Result<ItemRow> {
    let row = diesel::update(item::table.find(id.uuid()))
        .set((
            item::name.eq(&details.name),
            item::unit_price.eq(details.unit_price.amount),
            item::currency.eq(details.unit_price.currency.code()),
            item::version.eq(version),
            item::updated_at.eq(clock_timestamp()),
        ))
        .returning(ItemRow::as_returning())
        .get_result(tx)
        .await?;
    Ok(row)
}

/// Returns one item of this tenant.
pub(crate) async fn find(
    connection: &mut Connection,
    tenant: &TenantId,
    sku: &Sku,
) -> Result<Option<ItemRow>> {
    let row = item::table
        .filter(item::tenant_id.eq(tenant.as_str()))
        .filter(item::sku.eq(sku.as_str()))
        .select(ItemRow::as_select())
        .first(connection)
        .await
        .optional()?;
    Ok(row)
}

/// Returns this tenant's items with a position below `before`, newest first.
pub(crate) async fn list(
    connection: &mut Connection,
    tenant: &TenantId,
    before: Uuid,
    limit: i64,
) -> Result<Vec<ItemRow>> {
    let rows = item::table
        .filter(item::tenant_id.eq(tenant.as_str()))
        .filter(item::position.lt(before))
        .order(item::position.desc())
        .limit(limit)
        .select(ItemRow::as_select())
        .load(connection)
        .await?;
    Ok(rows)
}
