//! The table `catalogue_item`: names and prices of items, copied from the events of inventory.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use contracts::events::{ItemChanged, OrderLine};
use contracts::{Money, Sku};
use database::functions::clock_timestamp;
use database::{AppendTx, Connection, Result, Tx, unreadable};
use diesel::prelude::*;
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;
use envelope::TenantId;
use uuid::Uuid;

use crate::schema::catalogue_item as item;

/// A stored catalogue item.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = item)]
pub(crate) struct ItemRow {
    sku: String,
    pub(crate) item_id: Uuid,
    pub(crate) name: String,
    unit_price: i64,
    currency: String,
    pub(crate) version: i64,
    pub(crate) updated_at: DateTime<Utc>,
}

impl ItemRow {
    pub(crate) fn sku(&self) -> Result<Sku> {
        sku(&self.sku)
    }

    pub(crate) fn unit_price(&self) -> Result<Money> {
        money(self.unit_price, &self.currency)
    }
}

fn sku(text: &str) -> Result<Sku> {
    text.parse().map_err(|_| unreadable("catalogue_item.sku"))
}

fn money(amount: i64, currency: &str) -> Result<Money> {
    let currency = currency.parse().map_err(|_| unreadable("catalogue_item.currency"))?;
    Ok(Money::new(amount, currency))
}

/// Returns one item of this tenant.
pub(crate) async fn find(
    connection: &mut Connection,
    tenant: &TenantId,
    sku: &Sku,
) -> Result<Option<ItemRow>> {
    let row = item::table
        .find((tenant.as_str(), sku.as_str()))
        .select(ItemRow::as_select())
        .first(connection)
        .await
        .optional()?;
    Ok(row)
}

/// Returns the prices of these lines' items. Items that the catalogue does not have are left out.
pub(crate) async fn prices(
    tx: &AppendTx,
    tenant: &TenantId,
    lines: &[OrderLine],
) -> Result<BTreeMap<Sku, Money>> {
    let skus: Vec<&str> = lines.iter().map(|line| line.sku.as_str()).collect();
    let query = item::table
        .filter(item::tenant_id.eq(tenant.as_str()))
        .filter(item::sku.eq_any(skus))
        .select((item::sku, item::unit_price, item::currency));
    let rows: Vec<(String, i64, String)> = tx.read(query).await?;
    rows.into_iter().map(|(text, amount, currency)| Ok((sku(&text)?, money(amount, &currency)?))).collect()
}

/// Inserts or updates an item, unless the stored version is the same or newer.
pub(crate) async fn put(tx: &mut Tx, tenant: &TenantId, changed: &ItemChanged) -> Result<()> {
    use diesel::query_dsl::methods::FilterDsl;

    let row = (
        item::tenant_id.eq(tenant.as_str()),
        item::sku.eq(changed.sku.as_str()),
        item::item_id.eq(changed.item.uuid()),
        item::name.eq(&changed.name),
        item::unit_price.eq(changed.unit_price.amount),
        item::currency.eq(changed.unit_price.currency.code()),
        item::version.eq(changed.version),
    );
    diesel::insert_into(item::table)
        .values(row)
        .on_conflict((item::tenant_id, item::sku))
        .do_update()
        .set((
            item::name.eq(excluded(item::name)),
            item::unit_price.eq(excluded(item::unit_price)),
            item::currency.eq(excluded(item::currency)),
            item::version.eq(excluded(item::version)),
            item::updated_at.eq(clock_timestamp()),
        ))
        .filter(item::version.lt(excluded(item::version)))
        .execute(tx)
        .await?;
    Ok(())
}
