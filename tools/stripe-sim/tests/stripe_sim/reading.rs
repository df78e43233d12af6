//! Reading: charges, balance transactions, expanded payment intents, and the headers of every response.

use serde_json::json;

use crate::simulator::{Simulator, VISA};

#[tokio::test(flavor = "multi_thread")]
async fn a_charge_costs_its_fee_and_the_balance_shows_it() {
    let sim = Simulator::start().await;
    let intent = sim.charge("k", VISA, 1999).await.json();
    let path = format!(
        "/v1/payment_intents/{}?expand[]=latest_charge.balance_transaction",
        intent["id"].as_str().unwrap()
    );
    let charge = sim.get(&path).await.json()["latest_charge"].clone();
    assert_eq!((&charge["object"], &charge["id"]), (&json!("charge"), &intent["latest_charge"]));
    assert_eq!((&charge["amount_captured"], &charge["captured"]), (&json!(1999), &json!(true)));
    assert_eq!(charge["metadata"], intent["metadata"]);
    let movement = &charge["balance_transaction"];
    // 2.9 % of 1999 are 57.97, and 30.
    assert_eq!(
        (&movement["amount"], &movement["fee"], &movement["net"]),
        (&json!(1999), &json!(88), &json!(1911))
    );
    assert_eq!((&movement["type"], &movement["currency"]), (&json!("charge"), &json!("eur")));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_response_to_a_charge_is_expanded_and_replayed_expanded() {
    let sim = Simulator::start().await;
    let form = [
        ("amount", "1000"),
        ("currency", "eur"),
        ("payment_method", VISA),
        ("confirm", "true"),
        ("expand[]", "latest_charge.balance_transaction"),
    ];
    let charged = sim.post("/v1/payment_intents", Some("k"), &form).await;
    assert_eq!(charged.json()["latest_charge"]["balance_transaction"]["fee"], 59);
    assert_eq!(sim.post("/v1/payment_intents", Some("k"), &form).await.bytes, charged.bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_response_has_the_headers_of_the_protocol() {
    let sim = Simulator::start().await;
    let charged = sim.charge("k", VISA, 100).await;
    assert_eq!(charged.headers["idempotency-key"], "k");
    assert!(charged.headers["request-id"].to_str().unwrap().starts_with("req_"));
    assert!(charged.headers.contains_key("stripe-version"));
    let declined = sim.charge("d", "pm_card_chargeDeclined", 100).await;
    assert_eq!(declined.headers["stripe-should-retry"], "false");
}
