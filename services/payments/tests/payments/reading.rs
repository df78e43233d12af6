//! The endpoints that read payments and refunds.

use actix_web::App;
use actix_web::body::to_bytes;
use actix_web::dev::Service as _;
use actix_web::test::{TestRequest, init_service};
use database::Database;
use edge::{Authenticator, Edge, EdgeSettings, TokenPolicy};
use envelope::Topics;
use payments::Payments;
use runtime::Context;
use serde_json::{Value, json};
use testkit::identity;

use crate::stage::{AMOUNT, Order, Stage, TENANT, VISA, brisk};

/// Reads this path with this token. Returns status and body.
pub(crate) async fn get(stage: &Stage, tenant: &str, scopes: &str, path: &str) -> (u16, Value) {
    get_from(Database::clone(&stage.database), stage, tenant, scopes, path).await
}

/// The same, with the sessions of another instance.
pub(crate) async fn get_from(
    database: Database,
    stage: &Stage,
    tenant: &str,
    scopes: &str,
    path: &str,
) -> (u16, Value) {
    let authenticator =
        Authenticator::from_jwks(&identity::jwks(), TokenPolicy::of(identity::ISSUER, identity::AUDIENCE))
            .unwrap();
    let edge = Edge::new(database.clone(), authenticator, EdgeSettings::default());
    let settings = stage.settings();
    let context = Context::<Payments> { database, topics: Topics::of("test"), settings };
    let app = init_service(App::new().configure(runtime::routes(edge, context))).await;
    let bearer = format!("Bearer {}", identity::token(tenant, "tester", scopes));
    let request = TestRequest::get().uri(path).insert_header(("Authorization", bearer)).to_request();
    let response = app.call(request).await.unwrap();
    let status = response.status().as_u16();
    let body = to_bytes(response.into_body()).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap())
}

async fn read(stage: &Stage, path: &str) -> Value {
    let (status, body) = get(stage, TENANT, "payments:read", path).await;
    assert_eq!(status, 200, "{body}");
    body
}

fn path_of(order: Order) -> String {
    format!("/v1/payments/{}", order.payment)
}

#[actix_web::test]
async fn a_payment_shows_its_state_and_its_refunds() {
    let stage = Stage::new().await;
    let order = stage.request(VISA).await;
    let mut payment = read(&stage, &path_of(order)).await;
    let times = ["expires_at", "created_at", "updated_at"];
    for time in times {
        assert!(payment[time].take().as_str().unwrap().ends_with('Z'), "{time}");
    }
    let money = json!({ "amount": AMOUNT, "currency": "EUR" });
    assert_eq!(
        payment,
        json!({
            "id": order.payment, "order_id": order.order, "reference": null, "amount": money, "payment_method": VISA,
            "status": "requested", "decline_code": null, "refunds": [],
            "expires_at": null, "created_at": null, "updated_at": null,
        })
    );
    let worker = stage.worker(brisk());
    stage.becomes(order, "captured").await;
    stage.cancel(order).await;
    stage.is_at_rest().await;
    worker.stop().await;
    let payment = read(&stage, &path_of(order)).await;
    assert_eq!(payment["status"], "captured");
    let refund = &payment["refunds"][0];
    assert_eq!((&refund["amount"], &refund["status"]), (&money, &json!("succeeded")));
    assert_eq!((&refund["cause"], &refund["failure_code"]), (&json!("order_cancelled"), &Value::Null));
    assert_eq!(payment["refunds"].as_array().unwrap().len(), 1);
}

#[actix_web::test]
async fn a_declined_payment_says_why() {
    let stage = Stage::new().await;
    let order = stage.request("pm_card_chargeDeclined").await;
    let worker = stage.worker(brisk());
    stage.becomes(order, "declined").await;
    worker.stop().await;
    let payment = read(&stage, &path_of(order)).await;
    assert_eq!(
        (&payment["status"], &payment["decline_code"]),
        (&json!("declined"), &json!("generic_decline"))
    );
}

#[actix_web::test]
async fn another_tenants_payment_does_not_exist() {
    let stage = Stage::new().await;
    let order = stage.request(VISA).await;
    let (theirs, unknown) = (path_of(order), path_of(Order::new()));
    let foreign = get(&stage, "other", "payments:read", &theirs).await;
    assert_eq!(foreign, get(&stage, "other", "payments:read", &unknown).await);
    assert_eq!((foreign.0, &foreign.1["code"]), (404, &json!("not-found")));
    assert_eq!(foreign, get(&stage, TENANT, "payments:read", "/v1/payments/nonsense").await);
    let (_, list) = get(&stage, "other", "payments:read", "/v1/payments").await;
    assert_eq!(list, json!({ "data": [], "next_cursor": null }));
}

#[actix_web::test]
async fn payments_are_listed_newest_first_in_pages() {
    let stage = Stage::new().await;
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(json!(stage.request(VISA).await.payment));
    }
    ids.reverse();
    let (mut seen, mut path) = (Vec::new(), "/v1/payments?limit=2".to_owned());
    loop {
        let page = read(&stage, &path).await;
        seen.extend(page["data"].as_array().unwrap().iter().map(|payment| payment["id"].clone()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/v1/payments?limit=2&cursor={cursor}");
    }
    assert_eq!(seen, ids);
}

#[actix_web::test]
async fn reading_needs_its_scope() {
    let stage = Stage::new().await;
    let order = stage.request(VISA).await;
    for path in ["/v1/payments".to_owned(), path_of(order)] {
        let (status, body) = get(&stage, TENANT, "payments:write orders:read", &path).await;
        assert_eq!((status, &body["code"]), (403, &json!("forbidden")), "{path}");
    }
}

#[actix_web::test]
async fn payments_are_listed_by_order_and_reference() {
    let stage = Stage::new().await;
    let (one, other) = (stage.request(VISA).await, stage.request(VISA).await);
    stage.meddle(&format!("UPDATE payment SET reference = 'blue' WHERE id = '{}'", other.payment)).await;
    for (filter, expected) in [
        (format!("order_id={}", one.order), vec![one.payment]),
        ("reference=blue".to_owned(), vec![other.payment]),
        (format!("order_id={}&reference=blue", one.order), vec![]),
        (String::new(), vec![other.payment, one.payment]),
    ] {
        let list = read(&stage, &format!("/v1/payments?{filter}")).await;
        let ids: Vec<&Value> =
            list["data"].as_array().unwrap().iter().map(|payment| &payment["id"]).collect();
        assert_eq!(json!(ids), json!(expected), "{filter}");
    }
    let (status, problem) = get(&stage, TENANT, "payments:read", "/v1/payments?order_id=1").await;
    assert_eq!((status, &problem["code"]), (400, &json!("request-invalid")));
}
