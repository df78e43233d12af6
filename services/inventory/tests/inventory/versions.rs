//! Entity tags: no update is lost, and a retry whose first response was lost succeeds.

use futures_util::future::join_all;
use serde_json::json;

use crate::stage::{Stage, item_id, tea, tea_at};

/// Counts the events and facts about changes of an item.
async fn changes(stage: &Stage) -> (usize, i64) {
    let facts = stage.count("SELECT count(*) FROM audit_fact WHERE action = 'item.put'").await;
    (stage.announced(item_id("TEA-1")).await.len(), facts)
}

#[actix_web::test]
async fn an_item_is_changed_only_from_the_version_that_if_match_names() {
    let stage = Stage::new().await;
    let client = stage.client();
    client.put_item("TEA-1", tea()).await;
    let read = client.get("/v1/items/TEA-1").await;
    let tag = read.header("etag").unwrap().to_owned();
    assert_eq!(tag, "\"1\"");

    let changed = client.put_item_if(&tag, "TEA-1", tea_at(500)).await;
    assert_eq!((changed.status, changed.header("etag")), (200, Some("\"2\"")));
    for stale in ["\"1\"", "\"3\"", "W/\"2\"", "\"x\""] {
        let refused = client.put_item_if(stale, "TEA-1", tea_at(600)).await;
        assert_eq!((refused.status, refused.code()), (412, "precondition-failed"), "{stale}");
    }
    assert_eq!(client.get("/v1/items/TEA-1").await.body["unit_price"]["amount"], 500);
    assert_eq!(changes(&stage).await, (2, 2));
    for (fresh, amount, version) in [("\"1\", \"2\"", 600, 3), ("*", 700, 4)] {
        let changed = client.put_item_if(fresh, "TEA-1", tea_at(amount)).await;
        assert_eq!((changed.status, &changed.body["version"]), (200, &json!(version)), "{fresh}");
    }
}

#[actix_web::test]
async fn a_retry_with_the_old_version_after_a_lost_answer_succeeds() {
    let stage = Stage::new().await;
    let client = stage.client();
    client.put_item("TEA-1", tea()).await;
    let first = client.put_item_if("\"1\"", "TEA-1", tea_at(500)).await;
    for _ in 0..2 {
        let again = client.put_item_if("\"1\"", "TEA-1", tea_at(500)).await;
        assert_eq!((again.status, again.header("etag")), (200, Some("\"2\"")));
        assert_eq!(again.body, first.body);
    }
    assert_eq!(changes(&stage).await, (2, 2));
    // Another client has changed the item meanwhile, so the retry does not restore the old content.
    client.put_item("TEA-1", tea_at(600)).await;
    let late = client.put_item_if("\"1\"", "TEA-1", tea_at(500)).await;
    assert_eq!((late.status, late.code()), (412, "precondition-failed"));
    assert_eq!(client.get("/v1/items/TEA-1").await.body["unit_price"]["amount"], 600);
}

#[actix_web::test]
async fn if_match_creates_no_item() {
    let stage = Stage::new().await;
    for versions in ["*", "\"1\""] {
        let refused = stage.client().put_item_if(versions, "TEA-1", tea()).await;
        assert_eq!((refused.status, refused.code()), (412, "precondition-failed"), "{versions}");
    }
    assert_eq!(stage.count("SELECT count(*) FROM item").await, 0);
    assert_eq!(changes(&stage).await, (0, 0));
}

#[actix_web::test]
async fn of_many_changes_of_one_version_one_succeeds() {
    let stage = Stage::new().await;
    let client = stage.client();
    client.put_item("TEA-1", tea()).await;
    let puts = (0..8).map(|n| client.put_item_if("\"1\"", "TEA-1", tea_at(500 + n)));
    let mut statuses: Vec<u16> = join_all(puts).await.iter().map(|put| put.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412, 412, 412, 412, 412, 412, 412]);
    assert_eq!(changes(&stage).await, (2, 2));
}

#[actix_web::test]
async fn of_many_puts_that_may_only_create_one_succeeds() {
    let stage = Stage::new().await;
    let client = stage.client();
    let puts = (0..8).map(|n| client.create_item("TEA-1", tea_at(500 + n)));
    let mut statuses: Vec<u16> = join_all(puts).await.iter().map(|put| put.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 412, 412, 412, 412, 412, 412, 412]);
    // Not even the same content: the item exists.
    let amount = client.get("/v1/items/TEA-1").await.body["unit_price"]["amount"].as_i64().unwrap();
    assert_eq!(client.create_item("TEA-1", tea_at(amount)).await.code(), "precondition-failed");
    assert_eq!(changes(&stage).await, (1, 1));
}

#[actix_web::test]
async fn an_unreadable_if_match_is_refused() {
    let stage = Stage::new().await;
    stage.client().put_item("TEA-1", tea()).await;
    let refused = stage.client().put_item_if("1", "TEA-1", tea_at(500)).await;
    assert_eq!((refused.status, refused.code()), (400, "request-invalid"));
    assert_eq!(changes(&stage).await, (1, 1));
}

#[actix_web::test]
async fn an_item_is_read_in_full_because_stock_moves_without_a_version() {
    let stage = Stage::new().await;
    let client = stage.client();
    client.stock("TEA-1", 5).await;
    let tag = client.get("/v1/items/TEA-1").await.header("etag").unwrap().to_owned();
    client.adjust("TEA-1", json!({"delta": 1, "reason": "found one"})).await;
    let read = client.get_unless(&tag, "/v1/items/TEA-1").await;
    assert_eq!((read.status, read.header("etag"), &read.body["on_hand"]), (200, Some(&*tag), &json!(6)));
}
