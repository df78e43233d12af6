//! Runs each query that takes a tenant as the tenant that owns the rows and as another one.

use chrono::DateTime;
use contracts::{Currency, ItemId, Money, OrderId, Sku};
use envelope::TenantId;
use runtime::Service as _;
use testkit::TestDatabase;
use uuid::Uuid;

use super::{erasure, items, movements, reservations};
use crate::Inventory;
use crate::domain::{ItemDetails, ReservationLine};

#[tokio::test]
async fn no_query_finds_or_changes_what_another_tenant_stored() {
    let database = TestDatabase::with(vec![Inventory::migrations()]).await;
    let [owner, other]: [TenantId; 2] = ["acme", "globex"].map(|name| name.parse().unwrap());
    let (sku, order): (Sku, _) = ("TEA-1".parse().unwrap(), OrderId::from(Uuid::now_v7()));
    let mut tx = database.begin().await.unwrap();
    let details = ItemDetails { name: "Tea".to_owned(), unit_price: Money::new(450, Currency::Eur) };
    items::insert(&mut tx, &owner, &sku, &details).await.unwrap().expect("a new item");
    let line = ReservationLine { item: ItemId::of(&owner, &sku), sku: sku.clone(), quantity: 1 };
    movements::record_adjustment(&mut tx, &owner, line.item, 1, "delivery").await.unwrap();
    reservations::add(&mut tx, &owner, order, vec![line], DateTime::UNIX_EPOCH);
    tx.commit().await.unwrap();

    for (tenant, finds) in [(&other, false), (&owner, true)] {
        let mut connection = database.connection().await.unwrap();
        let mut tx = database.begin().await.unwrap();
        let found = [
            ("items::find", items::find(&mut connection, tenant, &sku).await.unwrap().is_some()),
            ("items::list", !items::list(&mut connection, tenant, Uuid::max(), 9).await.unwrap().is_empty()),
            ("items::lock", items::lock(&mut tx, tenant, &sku).await.unwrap().is_some()),
            (
                "reservations::find",
                reservations::find(&mut connection, tenant, order).await.unwrap().is_some(),
            ),
            (
                "erasure::erase_texts",
                !erasure::erase_texts(&mut tx, tenant, Uuid::nil(), 9).await.unwrap().is_empty(),
            ),
        ];
        tx.commit().await.unwrap();
        let wrong: Vec<_> = found.into_iter().filter(|(_, found)| *found != finds).collect();
        assert!(wrong.is_empty(), "as {tenant}: {wrong:?}");
    }
}
