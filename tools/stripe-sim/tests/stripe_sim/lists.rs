//! Lists: every object once, newest first, to the end.

use serde_json::Value;

use crate::simulator::{Simulator, VISA};

/// Follows `starting_after` to the end, and checks each page's size.
async fn ids(sim: &Simulator, url: &str, limit: usize) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    loop {
        let after = ids.last().map(|id| format!("&starting_after={id}")).unwrap_or_default();
        let response = sim.get(&format!("{url}limit={limit}{after}")).await;
        assert_eq!(response.status, 200, "{}", response.json());
        let page = response.json();
        assert_eq!(page["object"], "list");
        let data = page["data"].as_array().unwrap();
        ids.extend(data.iter().map(|object| object["id"].as_str().unwrap().to_owned()));
        if page["has_more"] == Value::Bool(false) {
            return ids;
        }
        assert_eq!(data.len(), limit);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_pages_to_the_end() {
    let sim = Simulator::start().await;
    let mut made = Vec::new();
    for n in 0..7 {
        made.push(sim.charge(&format!("k-{n}"), VISA, 100 + n).await.id());
    }
    made.reverse();
    for limit in [1, 3, 7, 100] {
        assert_eq!(ids(&sim, "/v1/payment_intents?", limit).await, made, "in pages of {limit}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_intents_keeps_to_its_window() {
    let sim = Simulator::start().await;
    let created = sim.charge("k", VISA, 100).await.json()["created"].as_i64().unwrap();
    for (window, expected) in [
        (format!("created[gte]={created}&created[lte]={created}&"), 1),
        (format!("created[gte]={}&", created + 1), 0),
        (format!("created%5Blte%5D={}&", created - 1), 0),
    ] {
        let found = ids(&sim, &format!("/v1/payment_intents?{window}"), 10).await;
        assert_eq!(found.len(), expected, "{window}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refunds_are_listed_by_their_intent() {
    let sim = Simulator::start().await;
    let (one, other) = (sim.charge("c-1", VISA, 100).await.id(), sim.charge("c-2", VISA, 100).await.id());
    let mut made = Vec::new();
    for n in 0..3 {
        made.push(sim.refund(&format!("r-{n}"), &one, 10).await.id());
    }
    let of_other = sim.refund("r-other", &other, 10).await.id();
    made.reverse();
    assert_eq!(ids(&sim, &format!("/v1/refunds?payment_intent={one}&"), 2).await, made);
    assert_eq!(ids(&sim, "/v1/refunds?", 1).await, [vec![of_other], made].concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_after_an_object_that_does_not_exist_is_refused() {
    let sim = Simulator::start().await;
    for list in ["payment_intents", "refunds", "events"] {
        let refused = sim.get(&format!("/v1/{list}?starting_after=nobody")).await;
        assert_eq!((refused.status, refused.error("param")), (400, "starting_after".into()));
    }
}
