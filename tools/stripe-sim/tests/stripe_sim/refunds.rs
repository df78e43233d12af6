//! Refunds: in parts, up to the charge and no further.

use futures_util::future::join_all;
use serde_json::json;

use crate::simulator::{Simulator, VISA};

const REFUNDED: &str = "SELECT coalesce(sum(amount), 0)::bigint AS number FROM refund";

#[tokio::test(flavor = "multi_thread")]
async fn refunds_never_exceed_the_capture_under_concurrent_requests() {
    let sim = Simulator::start().await;
    let intent = sim.charge("charge", VISA, 1000).await.id();
    // Twenty times 150 of 1000: six fit.
    let responses = join_all((0..20).map(|n| {
        let (sim, intent) = (&sim, &intent);
        async move { sim.refund(&format!("refund-{n}"), intent, 150).await }
    }))
    .await;

    let made = responses.iter().filter(|response| response.status == 200).count();
    assert_eq!(made, 6);
    for refused in responses.iter().filter(|response| response.status != 200) {
        assert_eq!((refused.status, refused.error("param")), (400, "amount".into()), "{}", refused.json());
    }
    assert_eq!(sim.number(REFUNDED).await, 900);
    assert_eq!(sim.number("SELECT amount_refunded AS number FROM charge").await, 900);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_without_an_amount_refunds_the_rest() {
    let sim = Simulator::start().await;
    let intent = sim.charge("charge", VISA, 1000).await.id();
    let part = sim.refund("r-1", &intent, 300).await;
    assert_eq!((part.status, &part.json()["amount"]), (200, &json!(300)));
    assert_eq!(part.json()["status"], "succeeded");
    assert_eq!(part.json()["payment_intent"], intent.as_str());

    let form =
        [("payment_intent", intent.as_str()), ("reason", "requested_by_customer"), ("metadata[cause]", "c")];
    let rest = sim.post("/v1/refunds", Some("r-2"), &form).await;
    assert_eq!((&rest.json()["amount"], &rest.json()["metadata"]), (&json!(700), &json!({ "cause": "c" })));
    assert_eq!(sim.get(&format!("/v1/refunds/{}", rest.id())).await.json(), rest.json());

    let none = sim.post("/v1/refunds", Some("r-3"), &form).await;
    assert_eq!((none.status, none.error("code")), (400, "charge_already_refunded".into()));
    assert_eq!(sim.number(REFUNDED).await, 1000);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_refund_key_refunds_once() {
    let sim = Simulator::start().await;
    let intent = sim.charge("charge", VISA, 1000).await.id();
    let first = sim.refund("r", &intent, 400).await;
    let again = sim.refund("r", &intent, 400).await;
    assert!(again.is_replay());
    assert_eq!(again.bytes, first.bytes);
    assert_eq!(sim.number(REFUNDED).await, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_uncharged_intent_is_not_refunded() {
    let sim = Simulator::start().await;
    let unknown = sim.refund("r-1", "pi_nobody", 1).await;
    assert_eq!((unknown.status, unknown.error("code")), (404, "resource_missing".into()));

    let declined = sim.charge("charge", "pm_card_chargeDeclined", 100).await;
    let id = declined.error("payment_intent")["id"].as_str().unwrap().to_owned();
    let refused = sim.refund("r-2", &id, 1).await;
    assert_eq!(refused.status, 400);
    assert!(refused.error("message").as_str().unwrap().contains("does not have a successful charge"));
    assert_eq!(sim.number(REFUNDED).await, 0);
}
