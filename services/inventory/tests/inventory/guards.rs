//! Statements that the database refuses, and the routes of the OpenAPI document.

use diesel::sql_query;
use diesel_async::RunQueryDsl;
use inventory::Inventory;
use runtime::Service;
use serde_json::Value;

use crate::stage::{Stage, item_id};

/// Runs a statement as the service's role, and returns PostgreSQL's error.
async fn refusal(stage: &Stage, sql: &str) -> String {
    let mut service = stage.instance.connection().await.unwrap();
    sql_query(sql).execute(&mut service).await.expect_err(sql).to_string()
}

#[actix_web::test]
async fn stock_below_zero_or_below_what_is_held_cannot_be_stored() {
    let stage = Stage::new().await;
    stage.client().stock("a", 5).await;
    for (sql, guard) in [
        ("UPDATE item SET on_hand = -1", "item_on_hand_in_range"),
        ("UPDATE item SET on_hand = 1000000000001", "item_on_hand_in_range"),
        ("UPDATE item SET reserved = 6", "item_reserved_is_there"),
        ("UPDATE item SET reserved = -1", "item_reserved_is_there"),
    ] {
        let message = refusal(&stage, sql).await;
        assert!(message.contains(guard), "{sql}: {message}");
    }
}

#[actix_web::test]
async fn an_order_has_one_reservation_and_an_item_leaves_once_for_it() {
    let stage = Stage::new().await;
    stage.client().stock("a", 5).await;
    let reserve = "INSERT INTO reservation (order_id, tenant_id, state, sequence)
                   VALUES ('00000000-0000-0000-0000-000000000001', 'acme', 'held', 1)";
    let ship = format!(
        "INSERT INTO stock_movement (id, tenant_id, item_id, kind, delta, order_id)
         VALUES (gen_random_uuid(), 'acme', '{}', 'shipment', -1, '00000000-0000-0000-0000-000000000001')",
        item_id("a")
    );
    for (sql, guard) in
        [(reserve, "reservation_pkey"), (ship.as_str(), "stock_movement_order_id_item_id_key")]
    {
        let mut service = stage.instance.connection().await.unwrap();
        sql_query(sql).execute(&mut service).await.unwrap();
        let message = refusal(&stage, sql).await;
        assert!(message.contains(guard), "{sql}: {message}");
    }
}

#[actix_web::test]
async fn the_service_cannot_change_stock_movements() {
    let stage = Stage::new().await;
    for sql in [
        "UPDATE stock_movement SET delta = 1",
        "DELETE FROM stock_movement",
        "UPDATE reservation_line SET quantity = 1",
        "DELETE FROM reservation",
        "DELETE FROM item",
    ] {
        let message = refusal(&stage, sql).await;
        assert!(message.contains("permission denied"), "{sql}: {message}");
    }
}

#[test]
fn the_document_has_every_route_with_its_description() {
    let document: Value = serde_json::from_str(Inventory::DOCUMENT).unwrap();
    let mut routes: Vec<String> = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            assert!(operation["operationId"].is_string() && operation["security"].is_array(), "{path}");
            assert!(operation["summary"].as_str().is_some_and(|text| text.len() <= 60), "{path}");
            routes.push(format!("{} {path}", method.to_uppercase()));
        }
    }
    assert_eq!(
        routes,
        [
            "GET /v1/idempotency-keys/{key}",
            "POST /v1/idempotency-keys/{key}/fence",
            "GET /v1/items",
            "GET /v1/items/{sku}",
            "PUT /v1/items/{sku}",
            "POST /v1/items/{sku}/adjustments",
            "GET /v1/reservations/{order_id}",
        ]
    );
}
