//! `POST` of completions.

use futures_util::future::join_all;
use serde_json::json;
use uuid::Uuid;

use crate::stage::{Stage, TENANT};

const EVENTS: &str = "SELECT count(*) FROM outbox_event WHERE type = 'parcels.ParcelCompleted.v1'";
const FACTS: &str = "SELECT count(*) FROM audit_fact WHERE action = 'parcel.complete'";

#[tokio::test]
async fn a_parcel_is_completed_and_announced_once_however_often_the_request_is_sent() {
    let stage = Stage::new().await;
    let order = stage.confirmed(1).await;
    let key = Uuid::new_v4();
    let first = stage.complete(TENANT, key, order, "by Ada").await;
    assert_eq!((first.status, &first.body["status"]), (200, &json!("completed")));
    let again = stage.complete(TENANT, key, order, "by Ada").await;
    assert_eq!((again.status, again.replayed, &again.body), (200, true, &first.body));
    let other = stage.complete(TENANT, Uuid::new_v4(), order, "by Grace").await;
    assert_eq!((other.status, &other.body["code"]), (409, &json!("parcel-completed")));
    assert_eq!(stage.parcel(TENANT, order).await.unwrap()["note"], "by Ada");
    assert_eq!((stage.database.count(EVENTS).await, stage.database.count(FACTS).await), (1, 1));
}

#[tokio::test]
async fn of_many_completions_at_once_one_succeeds() {
    let stage = Stage::new().await;
    let order = stage.confirmed(1).await;
    let completed = join_all((0..8).map(|_| stage.complete(TENANT, Uuid::new_v4(), order, "a note"))).await;
    assert_eq!(completed.iter().filter(|it| it.status == 200).count(), 1, "{completed:?}");
    assert_eq!(completed.iter().filter(|it| it.status == 409).count(), 7, "{completed:?}");
    assert_eq!(stage.database.count(EVENTS).await, 1);
}

#[tokio::test]
async fn a_parcel_belongs_to_its_tenant() {
    let stage = Stage::new().await;
    let order = stage.confirmed(1).await;
    assert_eq!(stage.parcel("globex", order).await, None);
    let refused = stage.complete("globex", Uuid::new_v4(), order, "mine").await;
    assert_eq!((refused.status, &refused.body["code"]), (404, &json!("not-found")));
    assert_eq!(stage.parcel(TENANT, order).await.unwrap()["status"], "open");
}

#[tokio::test]
async fn a_completion_without_a_note_names_the_member() {
    let stage = Stage::new().await;
    let order = stage.confirmed(1).await;
    let refused = stage.complete(TENANT, Uuid::new_v4(), order, "").await;
    assert_eq!((refused.status, &refused.body["errors"][0]["pointer"]), (400, &json!("/note")));
}
