//! Refunds: in parts, up to the charge and no further.

use futures_util::future::join_all;
use serde_json::json;

use crate::bench::{Bench, VISA};

const REFUNDED: &str = "SELECT coalesce(sum(amount), 0)::bigint AS number FROM refund";

#[tokio::test(flavor = "multi_thread")]
async fn refunds_never_exceed_the_capture_under_concurrent_requests() {
    let bench = Bench::start().await;
    let intent = bench.charge("charge", VISA, 1000).await.id();
    // Twenty times 150 of 1000: six fit.
    let answers = join_all((0..20).map(|n| {
        let (bench, intent) = (&bench, &intent);
        async move { bench.refund(&format!("refund-{n}"), intent, 150).await }
    }))
    .await;

    let made = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(made, 6);
    for refused in answers.iter().filter(|answer| answer.status != 200) {
        assert_eq!((refused.status, refused.error("param")), (400, "amount".into()), "{}", refused.json());
    }
    assert_eq!(bench.books(REFUNDED).await, 900);
    assert_eq!(bench.books("SELECT amount_refunded AS number FROM charge").await, 900);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_without_an_amount_gives_back_what_is_left() {
    let bench = Bench::start().await;
    let intent = bench.charge("charge", VISA, 1000).await.id();
    let part = bench.refund("r-1", &intent, 300).await;
    assert_eq!((part.status, &part.json()["amount"]), (200, &json!(300)));
    assert_eq!(part.json()["status"], "succeeded");
    assert_eq!(part.json()["payment_intent"], intent.as_str());

    let form =
        [("payment_intent", intent.as_str()), ("reason", "requested_by_customer"), ("metadata[cause]", "c")];
    let rest = bench.post("/v1/refunds", Some("r-2"), &form).await;
    assert_eq!((&rest.json()["amount"], &rest.json()["metadata"]), (&json!(700), &json!({ "cause": "c" })));
    assert_eq!(bench.get(&format!("/v1/refunds/{}", rest.id())).await.json(), rest.json());

    let none = bench.post("/v1/refunds", Some("r-3"), &form).await;
    assert_eq!((none.status, none.error("code")), (400, "charge_already_refunded".into()));
    assert_eq!(bench.books(REFUNDED).await, 1000);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_refund_key_gives_back_once() {
    let bench = Bench::start().await;
    let intent = bench.charge("charge", VISA, 1000).await.id();
    let first = bench.refund("r", &intent, 400).await;
    let again = bench.refund("r", &intent, 400).await;
    assert!(again.is_replay());
    assert_eq!(again.bytes, first.bytes);
    assert_eq!(bench.books(REFUNDED).await, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_charged_is_not_refunded() {
    let bench = Bench::start().await;
    let unknown = bench.refund("r-1", "pi_nobody", 1).await;
    assert_eq!((unknown.status, unknown.error("code")), (404, "resource_missing".into()));

    let declined = bench.charge("charge", "pm_card_chargeDeclined", 100).await;
    let id = declined.error("payment_intent")["id"].as_str().unwrap().to_owned();
    let refused = bench.refund("r-2", &id, 1).await;
    assert_eq!(refused.status, 400);
    assert!(refused.error("message").as_str().unwrap().contains("does not have a successful charge"));
    assert_eq!(bench.books(REFUNDED).await, 0);
}
