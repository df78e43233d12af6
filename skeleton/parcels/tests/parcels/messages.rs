//! The events of `orders`.

use crate::stage::{Stage, TENANT};

#[tokio::test]
async fn an_order_has_one_parcel_however_often_its_confirmation_comes() {
    let stage = Stage::new().await;
    let order = stage.confirmed(3).await;
    assert_eq!(stage.parcel(TENANT, order).await.unwrap()["status"], "open");
    let counts = ["SELECT count(*) FROM parcel", "SELECT count(*) FROM inbox_message"];
    for count in counts {
        assert_eq!(stage.database.count(count).await, 1, "{count}");
    }
    assert_eq!(stage.database.count("SELECT count(*) FROM inbox_parked").await, 0);
}
