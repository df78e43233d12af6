//! Runs each query that takes a tenant as the tenant that owns the rows and as another one.

use chrono::DateTime;
use contracts::events::{ItemChanged, OrderLine};
use contracts::{Currency, ItemId, Money, OrderId, Sku};
use envelope::{Caller, OperationId, TenantId};
use runtime::Service as _;
use testkit::TestDatabase;
use uuid::Uuid;

use super::orders::NewOrder;
use super::{catalogue, erasure, orders, timeline};
use crate::Orders;
use crate::domain::{Cause, EntryKind, PricedLine, PricedOrder, Status};

const REFERENCE: &str = "basket 1";

#[tokio::test]
async fn no_query_finds_or_changes_what_another_tenant_stored() {
    let database = TestDatabase::with(vec![Orders::migrations()]).await;
    let [owner, other]: [TenantId; 2] = ["acme", "globex"].map(|name| name.parse().unwrap());
    let (sku, order): (Sku, _) = ("TEA-1".parse().unwrap(), OrderId::from(Uuid::now_v7()));
    store(&database, &owner, &sku, order).await;

    for (tenant, finds) in [(&other, false), (&owner, true)] {
        let mut connection = database.connection().await.unwrap();
        let mut tx = database.begin().await.unwrap();
        let lists = async |reference, status| {
            let mut connection = database.connection().await.unwrap();
            let filter = (reference, status);
            !orders::list(&mut connection, tenant, filter, Uuid::max(), 9).await.unwrap().is_empty()
        };
        let found = [
            ("catalogue::find", catalogue::find(&mut connection, tenant, &sku).await.unwrap().is_some()),
            ("catalogue::prices", price(&database, tenant, &sku).await.is_some()),
            ("orders::find", orders::find(&mut connection, tenant, order).await.unwrap().is_some()),
            ("orders::lock", orders::lock(&mut tx, tenant, order).await.unwrap().is_some()),
            ("orders::list", lists(None, None).await),
            ("orders::list by reference", lists(Some(REFERENCE), None).await),
            ("orders::list by status", lists(None, Some(Status::Pending)).await),
            (
                "timeline::of_order",
                timeline::of_order(&mut connection, tenant, order).await.unwrap().is_some(),
            ),
            (
                "erasure::erase_texts",
                !erasure::erase_texts(&mut tx, tenant, None, Uuid::nil(), 9).await.unwrap().0.is_empty(),
            ),
        ];
        tx.commit().await.unwrap();
        let wrong: Vec<_> = found.into_iter().filter(|(_, found)| *found != finds).collect();
        assert!(wrong.is_empty(), "as {tenant}: {wrong:?}");
    }

    let mut tx = database.begin().await.unwrap();
    catalogue::put(&mut tx, &other, &item(&other, &sku, 999, 2)).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(price(&database, &owner, &sku).await, Some(Money::new(450, Currency::Eur)), "catalogue::put");
}

/// Stores an item and an order with a timeline entry.
async fn store(database: &TestDatabase, tenant: &TenantId, sku: &Sku, order: OrderId) {
    let mut tx = database.begin().await.unwrap();
    catalogue::put(&mut tx, tenant, &item(tenant, sku, 450, 1)).await.unwrap();
    let caller = Caller { tenant: tenant.clone(), client: "web-shop".parse().unwrap() };
    let price = Money::new(450, Currency::Eur);
    let lines = vec![PricedLine { sku: sku.clone(), quantity: 1, unit_price: price }];
    let new = NewOrder {
        caller: &caller,
        priced: PricedOrder { lines, total: price },
        payment_method: "pm_card_visa",
        reference: Some(REFERENCE),
        placed_at: DateTime::UNIX_EPOCH,
        expires_at: DateTime::UNIX_EPOCH,
    };
    let row = orders::insert(&mut tx, order, &new).unwrap();
    let cause = Cause::request(OperationId::from(Uuid::now_v7()), &caller);
    timeline::add(&mut tx, &row, EntryKind::OrderPlaced, &cause, row.updated_at).unwrap();
    tx.commit().await.unwrap();
}

fn item(tenant: &TenantId, sku: &Sku, price: i64, version: i64) -> ItemChanged {
    let (item, unit_price) = (ItemId::of(tenant, sku), Money::new(price, Currency::Eur));
    ItemChanged { item, sku: sku.clone(), name: "Tea".to_owned(), unit_price, version }
}

async fn price(database: &TestDatabase, tenant: &TenantId, sku: &Sku) -> Option<Money> {
    let shared = database.begin().await.unwrap().share();
    let part = shared.append_tx(None);
    let lines = [OrderLine { sku: sku.clone(), quantity: 1 }];
    let price = catalogue::prices(&part, tenant, &lines).await.unwrap().remove(sku);
    shared.collect([part]).unwrap().commit().await.unwrap();
    price
}
