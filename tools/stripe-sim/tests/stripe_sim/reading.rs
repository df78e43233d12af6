//! What can be read: charges, the balance, whole objects in the place of ids, and lists in both directions.

use serde_json::{Value, json};

use crate::bench::{Bench, VISA};

fn ids(page: &Value) -> Vec<String> {
    page["data"].as_array().unwrap().iter().map(|object| object["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_charge_costs_its_fee_and_the_balance_says_so() {
    let bench = Bench::start().await;
    let intent = bench.charge("k", VISA, 1999).await.json();
    let path = format!(
        "/v1/payment_intents/{}?expand[]=latest_charge.balance_transaction",
        intent["id"].as_str().unwrap()
    );
    let charge = bench.get(&path).await.json()["latest_charge"].clone();
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

    let id = movement["id"].as_str().unwrap();
    assert_eq!(&bench.get(&format!("/v1/balance_transactions/{id}")).await.json(), movement);
    let bare = bench.get(&format!("/v1/charges/{}", charge["id"].as_str().unwrap())).await.json();
    assert_eq!(bare["balance_transaction"], id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_shows_whole_objects_where_it_is_asked_to() {
    let bench = Bench::start().await;
    for n in 0..3 {
        bench.charge(&format!("k-{n}"), VISA, 100 + n).await;
    }
    bench.charge("declined", "pm_card_chargeDeclined", 100).await;
    let page = bench.get("/v1/payment_intents?expand[]=data.latest_charge.balance_transaction").await.json();
    let fees: Vec<&Value> = page["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|intent| &intent["latest_charge"]["balance_transaction"]["fee"])
        .collect();
    assert_eq!(fees, [&Value::Null, &json!(33), &json!(33), &json!(33)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_to_a_charge_is_expanded_and_replayed_so() {
    let bench = Bench::start().await;
    let form = [
        ("amount", "1000"),
        ("currency", "eur"),
        ("payment_method", VISA),
        ("confirm", "true"),
        ("expand[]", "latest_charge"),
    ];
    let charged = bench.post("/v1/payment_intents", Some("k"), &form).await;
    assert_eq!(charged.json()["latest_charge"]["paid"], true);
    assert_eq!(bench.post("/v1/payment_intents", Some("k"), &form).await.bytes, charged.bytes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_goes_back_to_what_is_newer() {
    let bench = Bench::start().await;
    let mut made = Vec::new();
    for n in 0..5 {
        made.push(bench.charge(&format!("k-{n}"), VISA, 100 + n).await.id());
    }
    let page = bench.get(&format!("/v1/payment_intents?limit=2&ending_before={}", made[1])).await.json();
    assert_eq!(ids(&page), [made[3].as_str(), made[2].as_str()]);
    assert_eq!(page["has_more"], true);
    let page = bench.get(&format!("/v1/payment_intents?limit=2&ending_before={}", made[2])).await.json();
    assert_eq!((ids(&page).len(), &page["has_more"]), (2, &json!(false)));

    let both = bench.get("/v1/payment_intents?starting_after=a&ending_before=b").await;
    assert_eq!((both.status, both.error("param")), (400, "ending_before".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_has_the_headers_of_the_protocol() {
    let bench = Bench::start().await;
    let charged = bench.charge("k", VISA, 100).await;
    assert_eq!(charged.headers["idempotency-key"], "k");
    assert!(charged.headers["request-id"].to_str().unwrap().starts_with("req_"));
    assert!(charged.headers.contains_key("stripe-version"));
    let declined = bench.charge("d", "pm_card_chargeDeclined", 100).await;
    assert_eq!(declined.headers["stripe-should-retry"], "false");
    assert!(declined.error("doc_url").as_str().unwrap().ends_with("/card-declined"));
    let logged = declined.error("request_log_url");
    assert!(logged.as_str().unwrap().ends_with(declined.headers["request-id"].to_str().unwrap()));
}
