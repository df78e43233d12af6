//! `PUT` and `GET` of items.

use futures_util::future::join_all;
use serde_json::json;

use crate::stage::{Stage, item_id, tea};

#[actix_web::test]
async fn a_new_item_is_201_and_announced_with_version_1() {
    let stage = Stage::new().await;
    let put = stage.client().put_item("TEA-1", tea()).await;
    assert_eq!(
        (put.status, put.header("etag"), put.header("location")),
        (201, Some("\"1\""), Some("/v1/items/TEA-1"))
    );
    let expected = json!({
        "id": item_id("TEA-1"), "sku": "TEA-1", "name": "Green tea", "unit_price": {"amount": 450, "currency": "EUR"},
        "version": 1, "on_hand": 0, "reserved": 0, "available": 0,
    });
    assert_eq!(put.body, expected);
    assert_eq!(stage.client().get("/v1/items/TEA-1").await.body, expected);
    let event = json!({
        "item": item_id("TEA-1"), "sku": "TEA-1", "name": "Green tea", "unit_price": {"amount": 450, "currency": "EUR"},
        "version": 1,
    });
    assert_eq!(stage.announced(item_id("TEA-1")).await, [(1, "inventory.ItemChanged.v1".to_owned(), event)]);
}

#[actix_web::test]
async fn the_same_content_again_changes_nothing() {
    let stage = Stage::new().await;
    stage.client().put_item("TEA-1", tea()).await;
    let again = stage.client().put_item("TEA-1", tea()).await;
    assert_eq!((again.status, again.header("etag"), &again.body["version"]), (200, Some("\"1\""), &json!(1)));
    assert_eq!(stage.announced(item_id("TEA-1")).await.len(), 1);
    assert_eq!(stage.count("SELECT count(*) FROM audit_fact WHERE action = 'item.put'").await, 1);
}

#[actix_web::test]
async fn another_price_is_the_next_version_and_announced() {
    let stage = Stage::new().await;
    stage.client().put_item("TEA-1", tea()).await;
    let dearer = json!({"name": "Green tea", "unit_price": {"amount": 500, "currency": "EUR"}});
    let put = stage.client().put_item("TEA-1", dearer).await;
    assert_eq!((put.status, put.header("etag"), &put.body["version"]), (200, Some("\"2\""), &json!(2)));
    let events = stage.announced(item_id("TEA-1")).await;
    let versions: Vec<(i64, &serde_json::Value)> =
        events.iter().map(|(n, _, data)| (*n, &data["version"])).collect();
    assert_eq!(versions, [(1, &json!(1)), (2, &json!(2))]);
    assert_eq!(events[1].2["unit_price"]["amount"], 500);
    assert_eq!(stage.count("SELECT count(*) FROM audit_fact WHERE action = 'item.put'").await, 2);
}

#[actix_web::test]
async fn concurrent_puts_of_one_new_item_make_one_version() {
    let stage = Stage::new().await;
    for round in 0..10 {
        let sku = format!("TEA-{round}");
        let client = stage.client();
        let mut statuses: Vec<u16> = join_all((0..8).map(|_| client.put_item(&sku, tea())))
            .await
            .iter()
            .map(|put| put.status)
            .collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 200, 201]);
        assert_eq!(stage.announced(item_id(&sku)).await.len(), 1);
    }
}

#[actix_web::test]
async fn a_validation_error_names_the_member_and_nothing_is_stored() {
    let stage = Stage::new().await;
    let price = |amount: i64, currency: &str| json!({"amount": amount, "currency": currency});
    let cases = [
        (json!({"name": "", "unit_price": price(1, "EUR")}), "/name"),
        (json!({"name": "x".repeat(201), "unit_price": price(1, "EUR")}), "/name"),
        (json!({"name": "a\u{7}b", "unit_price": price(1, "EUR")}), "/name"),
        (json!({"name": "x", "unit_price": price(0, "EUR")}), "/unit_price/amount"),
        (json!({"name": "x", "unit_price": price(1_000_000_000_001, "EUR")}), "/unit_price/amount"),
        (json!({"name": "x", "unit_price": price(1, "eur")}), "/unit_price/currency"),
        (json!({"name": "x", "unit_price": {"amount": 1.5, "currency": "EUR"}}), "/unit_price/amount"),
        (json!({"name": "x", "unit_price": price(1, "EUR"), "colour": "green"}), "/colour"),
    ];
    for (body, pointer) in cases {
        let put = stage.client().put_item("TEA-1", body.clone()).await;
        assert_eq!(
            (put.status, put.code(), put.pointers()),
            (400, "request-invalid", vec![pointer]),
            "{body}"
        );
    }
    assert_eq!(stage.count("SELECT count(*) FROM item").await, 0);
    let limits = json!({"name": "é".repeat(200), "unit_price": price(1_000_000_000_000, "JPY")});
    assert_eq!(stage.client().put_item("TEA-1", limits).await.status, 201);
}

#[actix_web::test]
async fn a_scope_that_the_token_lacks_is_403() {
    let stage = Stage::new().await;
    let reader = stage.client_of("acme", "inventory:read");
    assert_eq!(reader.put_item("TEA-1", tea()).await.status, 403);
    assert_eq!(reader.adjust("TEA-1", json!({"delta": 1, "reason": "x"})).await.status, 403);
    let writer = stage.client_of("acme", "inventory:write");
    for path in ["/v1/items", "/v1/items/TEA-1", "/v1/reservations/00000000-0000-0000-0000-000000000001"] {
        assert_eq!(writer.get(path).await.status, 403, "{path}");
    }
}

#[actix_web::test]
async fn a_caller_without_a_token_learns_nothing_from_the_path() {
    let stage = Stage::new().await;
    let stranger = stage.stranger();
    for sku in ["TEA-1", "no%20sku"] {
        assert_eq!(stranger.get(&format!("/v1/items/{sku}")).await.status, 401, "{sku}");
        assert_eq!(stranger.put_item(sku, tea()).await.status, 401, "{sku}");
        assert_eq!(stranger.adjust(sku, json!({"delta": 1, "reason": "x"})).await.status, 401, "{sku}");
    }
    assert_eq!(stranger.get("/v1/items").await.status, 401);
    assert_eq!(stranger.get("/v1/reservations/no-order").await.status, 401);
    assert_eq!(stage.client().get("/v1/items/no%20sku").await.status, 404);
}

#[actix_web::test]
async fn another_tenants_item_is_404_and_its_sku_is_free() {
    let stage = Stage::new().await;
    stage.client().stock("TEA-1", 5).await;
    let other = stage.client_of("globex", "inventory:read inventory:write");
    assert_eq!(other.get("/v1/items/TEA-1").await.status, 404);
    assert_eq!(other.adjust("TEA-1", json!({"delta": 1, "reason": "x"})).await.status, 404);
    assert_eq!(other.get("/v1/items").await.body["data"], json!([]));
    assert_eq!(other.put_item("TEA-1", tea()).await.status, 201);
    assert_eq!(other.stock_of("TEA-1").await, (0, 0));
    assert_eq!(stage.client().stock_of("TEA-1").await, (5, 0));
}

#[actix_web::test]
async fn a_list_is_newest_first_and_pages_to_its_end() {
    let stage = Stage::new().await;
    for sku in ["b", "c", "a"] {
        stage.client().put_item(sku, tea()).await;
    }
    let skus = |page: &serde_json::Value| -> Vec<String> {
        page["data"].as_array().unwrap().iter().map(|item| item["sku"].as_str().unwrap().to_owned()).collect()
    };
    let first = stage.client().get("/v1/items?limit=2").await.body;
    assert_eq!(skus(&first), ["a", "c"]);
    let cursor = first["next_cursor"].as_str().unwrap();
    let second = stage.client().get(&format!("/v1/items?limit=2&cursor={cursor}")).await.body;
    assert_eq!((skus(&second), &second["next_cursor"]), (vec!["b".to_owned()], &json!(null)));
}
