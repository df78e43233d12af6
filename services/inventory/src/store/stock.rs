//! The stock of items, in the table `item`. It changes apart from names and prices, and more often.

use chrono::{DateTime, Utc};
use contracts::ItemId;
use database::functions::clock_timestamp;
use database::{Aggregate, Locked, Result, Tx, UpdateRows, Write};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::domain::{Stock, Stocks};
use crate::schema::item;

/// The stock of one item.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = item)]
pub(crate) struct StockRow {
    id: Uuid,
    on_hand: i64,
    reserved: i64,
    updated_at: DateTime<Utc>,
}

impl StockRow {
    pub(crate) fn item(&self) -> ItemId {
        self.id.into()
    }

    pub(crate) fn stock(&self) -> Stock {
        Stock { on_hand: self.on_hand, reserved: self.reserved }
    }
}

/// Every transaction locks items in the order of tenant and SKU, so transactions do not deadlock.
impl Aggregate for StockRow {
    type Key = ItemId;

    fn key(&self) -> ItemId {
        self.item()
    }

    async fn load(mut tx: &Tx, items: &[ItemId]) -> Result<Vec<(Self, DateTime<Utc>)>> {
        let ids: Vec<Uuid> = items.iter().copied().map(ItemId::uuid).collect();
        let rows = item::table
            .filter(item::id.eq_any(ids))
            .order((item::tenant_id, item::sku))
            .select((Self::as_select(), clock_timestamp()))
            .for_update()
            .load(&mut tx)
            .await?;
        Ok(rows)
    }

    fn updates(changed: Vec<Self>) -> Vec<Write> {
        let update = UpdateRows::new(item::table, changed)
            .key(item::id, |row| row.id)
            .column(item::on_hand, |row| row.on_hand)
            .column(item::reserved, |row| row.reserved)
            .column(item::updated_at, |row| row.updated_at);
        vec![Write::new(update)]
    }
}

/// Locks and returns the stock of these items. Unknown items are left out.
pub(crate) async fn lock(
    tx: &mut Tx,
    items: impl IntoIterator<Item = ItemId>,
) -> Result<Vec<Locked<StockRow>>> {
    let items: Vec<ItemId> = items.into_iter().collect();
    tx.lock_all::<StockRow>(items.iter().copied()).await?;
    let mut locked = Vec::with_capacity(items.len());
    for item in items {
        locked.extend(tx.lock::<StockRow>(item).await?);
    }
    Ok(locked)
}

/// The stock of each of these items.
pub(crate) fn stocks(locked: &[Locked<StockRow>]) -> Stocks {
    locked.iter().map(|row| (row.item(), row.stock())).collect()
}

/// Gives these items the stock that `stocks` has for them.
pub(crate) fn set(tx: &mut Tx, locked: Vec<Locked<StockRow>>, stocks: &Stocks) {
    for row in locked {
        if let Some(Stock { on_hand, reserved }) = stocks.get(&row.item()).copied() {
            let _ = row.change(tx, |row, at| {
                (row.on_hand, row.reserved, row.updated_at) = (on_hand, reserved, at);
            });
        }
    }
}
