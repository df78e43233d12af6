//! Runs each query that takes a tenant as the tenant that owns the rows and as another one.

use contracts::OrderId;
use envelope::TenantId;
use runtime::Service as _;
use testkit::TestDatabase;
use uuid::Uuid;

use super::parcels;
use crate::Parcels;
use crate::domain::State;
use crate::events::ParcelId;

#[tokio::test]
async fn no_query_finds_or_changes_what_another_tenant_stored() {
    let database = TestDatabase::with(vec![Parcels::migrations()]).await;
    let [owner, other]: [TenantId; 2] = ["acme", "globex"].map(|name| name.parse().unwrap());
    let order = OrderId::from(Uuid::now_v7());
    let mut tx = database.begin().await.unwrap();
    parcels::insert(&mut tx, &owner, order).await.unwrap();
    let row = parcels::lock(&mut tx, &owner, ParcelId::of(order)).await.unwrap().expect("the new parcel");
    let _ = parcels::change(&mut tx, row, State::Completed, "a test");
    tx.commit().await.unwrap();

    for (tenant, finds) in [(&other, false), (&owner, true)] {
        let mut connection = database.connection().await.unwrap();
        let mut tx = database.begin().await.unwrap();
        let found = [
            ("parcels::lock", parcels::lock(&mut tx, tenant, ParcelId::of(order)).await.unwrap().is_some()),
            (
                "parcels::list",
                !parcels::list(&mut connection, tenant, Uuid::max(), 9).await.unwrap().is_empty(),
            ),
            (
                "parcels::erase_notes",
                !parcels::erase_notes(&mut tx, tenant, Uuid::nil(), 9).await.unwrap().is_empty(),
            ),
        ];
        tx.commit().await.unwrap();
        let wrong: Vec<_> = found.into_iter().filter(|(_, found)| *found != finds).collect();
        assert!(wrong.is_empty(), "as {tenant}: {wrong:?}");
    }
}
