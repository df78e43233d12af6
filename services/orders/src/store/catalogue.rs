//! The catalogue's rows: a projection of what inventory says.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use contracts::events::ItemChanged;
use contracts::{Money, Sku, TenantId};
use database::functions::clock_timestamp;
use database::{AppendTx, Connection, Result, Tx};
use diesel::prelude::*;
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::unreadable;
use crate::domain::Price;
use crate::schema::catalogue_item as item;

/// An entry as it is stored.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = item)]
pub(crate) struct EntryRow {
    sku: String,
    pub(crate) item_id: Uuid,
    pub(crate) name: String,
    unit_price: i64,
    currency: String,
    pub(crate) version: i64,
    pub(crate) updated_at: DateTime<Utc>,
}

impl EntryRow {
    pub(crate) fn sku(&self) -> Result<Sku> {
        self.sku.parse().map_err(|_| unreadable("catalogue_item.sku"))
    }

    pub(crate) fn unit_price(&self) -> Result<Money> {
        let currency = self.currency.parse().map_err(|_| unreadable("catalogue_item.currency"))?;
        Ok(Money::new(self.unit_price, currency))
    }
}

/// One item of this tenant.
pub(crate) async fn find(
    connection: &mut Connection,
    tenant: &TenantId,
    sku: &Sku,
) -> Result<Option<EntryRow>> {
    let row = item::table
        .find((tenant.as_str(), sku.as_str()))
        .select(EntryRow::as_select())
        .first(connection)
        .await
        .optional()?;
    Ok(row)
}

/// The prices of these SKUs; those that the catalogue does not know are not in the answer.
pub(crate) async fn prices(
    tx: &AppendTx,
    tenant: &TenantId,
    skus: impl Iterator<Item = &Sku>,
) -> Result<BTreeMap<Sku, Price>> {
    let skus: Vec<&str> = skus.map(Sku::as_str).collect();
    let query = item::table
        .filter(item::tenant_id.eq(tenant.as_str()))
        .filter(item::sku.eq_any(skus))
        .select((item::sku, item::unit_price, item::currency));
    let rows: Vec<(String, i64, String)> = tx.read(query).await?;
    let priced = rows.into_iter().filter_map(|(sku, amount, currency)| {
        let price = Price(Money::new(amount, currency.parse().ok()?));
        Some((sku.parse().ok()?, price))
    });
    Ok(priced.collect())
}

/// Takes over an item, unless a newer one is here already.
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
