//! `POST` of adjustments.

use futures_util::future::join_all;
use serde_json::json;
use uuid::Uuid;

use crate::stage::{Stage, delta, tea};

#[actix_web::test]
async fn an_adjustment_moves_the_stock_and_is_logged() {
    let stage = Stage::new().await;
    stage.client().put_item("TEA-1", tea()).await;
    let adjusted = stage.client().adjust("TEA-1", json!({"delta": 7, "reason": "delivery 4711"})).await;
    assert_eq!((adjusted.status, adjusted.header("location")), (201, Some("/v1/items/TEA-1")));
    let id = adjusted.body["id"].clone();
    assert_eq!(
        adjusted.body,
        json!({"id": id, "sku": "TEA-1", "delta": 7, "reason": "delivery 4711", "on_hand": 7, "reserved": 0})
    );
    let movement = format!("SELECT delta FROM stock_movement WHERE id = '{}'", id.as_str().unwrap());
    assert_eq!(stage.count(&movement).await, 7);
    assert_eq!(stage.client().adjust("TEA-1", delta(-3)).await.body["on_hand"], 4);
    assert_eq!(stage.client().stock_of("TEA-1").await, (4, 0));
    assert_eq!(stage.unbalanced_items().await, 0);
    assert_eq!(stage.count("SELECT count(*) FROM audit_fact WHERE action = 'stock.adjust'").await, 2);
}

#[actix_web::test]
async fn an_adjustment_is_no_new_version_of_the_item() {
    let stage = Stage::new().await;
    stage.client().stock("TEA-1", 7).await;
    assert_eq!(stage.client().get("/v1/items/TEA-1").await.body["version"], 1);
    assert_eq!(stage.count("SELECT count(*) FROM outbox_event").await, 1);
}

#[actix_web::test]
async fn a_retry_adjusts_once() {
    let stage = Stage::new().await;
    stage.client().stock("TEA-1", 7).await;
    let key = Uuid::new_v4();
    let first = stage.client().adjust_as(key, "TEA-1", delta(-2)).await;
    let again = stage.client().adjust_as(key, "TEA-1", delta(-2)).await;
    assert_eq!((again.status, &again.body), (201, &first.body));
    assert_eq!(again.header("idempotency-status"), Some("replayed"));
    assert_eq!(stage.client().stock_of("TEA-1").await, (5, 0));
    assert_eq!(stage.unbalanced_items().await, 0);
}

#[actix_web::test]
async fn too_little_stock_is_rejected_and_the_rejection_is_stored() {
    let stage = Stage::new().await;
    stage.client().stock("TEA-1", 7).await;
    let key = Uuid::new_v4();
    let refused = stage.client().adjust_as(key, "TEA-1", delta(-8)).await;
    assert_eq!((refused.status, refused.code()), (409, "stock-insufficient"));
    assert!(refused.body["detail"].as_str().unwrap().contains("7 are on hand"), "{refused:?}");
    stage.client().adjust("TEA-1", delta(10)).await;
    let again = stage.client().adjust_as(key, "TEA-1", delta(-8)).await;
    assert_eq!((again.status, again.header("idempotency-status")), (409, Some("replayed")));
    assert_eq!(stage.client().stock_of("TEA-1").await, (17, 0));
    assert_eq!(stage.count("SELECT count(*) FROM audit_fact WHERE action = 'stock.adjust'").await, 2);
}

#[actix_web::test]
async fn an_unknown_item_is_rejected_and_the_rejection_is_stored() {
    let stage = Stage::new().await;
    let key = Uuid::new_v4();
    assert_eq!(stage.client().adjust_as(key, "TEA-1", delta(1)).await.status, 404);
    stage.client().put_item("TEA-1", tea()).await;
    let again = stage.client().adjust_as(key, "TEA-1", delta(1)).await;
    assert_eq!((again.status, again.header("idempotency-status")), (404, Some("replayed")));
    assert_eq!(stage.client().stock_of("TEA-1").await, (0, 0));
}

#[actix_web::test]
async fn more_than_the_maximum_is_refused() {
    let stage = Stage::new().await;
    stage.client().put_item("TEA-1", tea()).await;
    stage.as_owner("UPDATE item SET on_hand = 1000000000000 - 1").await;
    let refused = stage.client().adjust("TEA-1", delta(2)).await;
    assert_eq!((refused.status, refused.code()), (422, "stock-limit"));
    assert_eq!(stage.client().adjust("TEA-1", delta(1)).await.status, 201);
}

#[actix_web::test]
async fn a_validation_error_names_the_member_and_its_key_stays_unused() {
    let stage = Stage::new().await;
    stage.client().put_item("TEA-1", tea()).await;
    let cases = [
        (delta(0), "/delta"),
        (delta(1_000_000_001), "/delta"),
        (delta(-1_000_000_001), "/delta"),
        (delta(i64::MIN), "/delta"),
        (json!({"delta": 1, "reason": ""}), "/reason"),
        (json!({"delta": 1, "reason": "x".repeat(201)}), "/reason"),
        (json!({"delta": "1", "reason": "x"}), "/delta"),
        (json!({"delta": 1, "reason": "x", "colour": "green"}), "/colour"),
    ];
    let key = Uuid::new_v4();
    for (body, pointer) in cases {
        let refused = stage.client().adjust_as(key, "TEA-1", body.clone()).await;
        assert_eq!((refused.status, refused.pointers()), (400, vec![pointer]), "{body}");
    }
    assert_eq!(stage.client().adjust_as(key, "TEA-1", delta(1_000_000_000)).await.status, 201);
}

#[actix_web::test]
async fn adjustments_at_once_never_make_stock_negative_and_sum_up() {
    let stage = Stage::new().await;
    for round in 0..10 {
        let sku = format!("TEA-{round}");
        stage.client().stock(&sku, 5).await;
        let client = stage.client();
        let adjusted = join_all((0..10).map(|_| client.adjust(&sku, delta(-1)))).await;
        let count = |status| adjusted.iter().filter(|response| response.status == status).count();
        assert_eq!((count(201), count(409)), (5, 5), "{adjusted:?}");
        assert_eq!(client.stock_of(&sku).await, (0, 0));
    }
    assert_eq!(stage.unbalanced_items().await, 0);
}
