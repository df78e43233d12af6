//! The catalogue, whose prices orders use.

use contracts::events::ItemChanged;
use contracts::{Currency, ItemId, Money};
use serde_json::{Value, json};
use testkit::{eventually, identity};

use crate::bench::{Bench, problem};
use crate::peers::Peers;

fn tea(amount: i64, version: i64) -> ItemChanged {
    let sku = "TEA".parse().unwrap();
    let item = ItemId::of(&"acme".parse().unwrap(), &sku);
    ItemChanged {
        item,
        sku,
        name: "Green tea".to_owned(),
        unit_price: Money::new(amount, Currency::Eur),
        version,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_catalogue_shows_the_price_and_version_that_orders_are_placed_at() {
    let bench = Bench::start().await;
    let mut peers = Peers::of(&bench).await;
    for (amount, version) in [(450, 1), (500, 2)] {
        peers.publish(&tea(amount, version)).await;
        let entry = eventually("the projection follows", async || {
            let response = bench.get("acme", "/v1/catalogue/TEA").await;
            let tag = response.headers().get("ETag")?.to_str().unwrap().to_owned();
            (tag == format!("\"{version}\"")).then_some(response)
        })
        .await;
        let entry: Value = entry.json().await.unwrap();
        let price = json!({"amount": amount, "currency": "EUR"});
        assert_eq!((&entry["sku"], &entry["name"]), (&json!("TEA"), &json!("Green tea")));
        assert_eq!((&entry["unit_price"], &entry["version"]), (&price, &json!(version)));
        assert_eq!(entry["item_id"], json!(tea(1, 1).item));
        let line = &bench.placed("acme").await["lines"][0];
        assert_eq!(line["unit_price"], price);
    }
    peers.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalogue_entry_that_the_client_has_is_not_sent_again() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    let known = bench.get_unless("acme", "/v1/catalogue/TEA", "\"1\"").await;
    assert_eq!((known.status().as_u16(), known.headers()["ETag"].to_str().unwrap()), (304, "\"1\""));
    assert_eq!(bench.get_unless("acme", "/v1/catalogue/TEA", "\"2\"").await.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_catalogue_entry_belongs_to_its_tenant() {
    let bench = Bench::start().await;
    bench.item("acme", "TEA", 450, "EUR").await;
    for (tenant, sku) in [("rival", "TEA"), ("acme", "HAT"), ("acme", "no%20sku")] {
        let response = bench.get(tenant, &format!("/v1/catalogue/{sku}")).await;
        assert_eq!(problem(response, 404).await, "not-found", "{tenant} {sku}");
    }
    let writer = identity::token("acme", "shop", "orders:write");
    let response = bench.read(&writer, "/v1/catalogue/TEA").send().await.unwrap();
    assert_eq!(problem(response, 403).await, "forbidden");
}
