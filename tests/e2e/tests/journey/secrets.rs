//! Secrets and keys stand where they must, and nowhere else: after a journey through every kind of trouble, everything
//! that it has left behind is searched.

use std::collections::BTreeSet;

use diesel::sql_query;
use diesel_async::RunQueryDsl;
use e2e::{Customer, Options, SECRET_KEY, Stack, TEA, Trace, WEBHOOK_SECRET, key};
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use testkit::{eventually, http};

/// What the customer sent, and what came back.
#[derive(Default)]
struct Story {
    keys: Vec<String>,
    answers: Vec<Trace>,
}

impl Story {
    /// Sends it until it is neither refused for the moment nor unknown to the catalogue; returns the answer's body.
    async fn send(&mut self, what: impl Fn(&str) -> RequestBuilder) -> Value {
        let key = key();
        let mut all = Vec::new();
        let body = eventually("a final answer", async || {
            let answer = what(&key).send().await.unwrap();
            let (status, headers) = (answer.status().as_u16(), format!("{:?}", answer.headers()));
            let text = answer.text().await.unwrap();
            all.push(Trace::new(format!("answer {status}"), headers + &text));
            let body: Value = serde_json::from_str(&text).unwrap_or_default();
            (body["retryable"] != true).then_some(body)
        })
        .await;
        self.answers.extend(all);
        self.keys.push(key);
        body
    }
}

const LEVEL: &str = "debug,h2=info";

#[tokio::test(flavor = "multi_thread")]
async fn secrets_and_keys_stand_where_they_must_and_nowhere_else() {
    let options = Options { lease_seconds: Some(2), log_level: Some(LEVEL), ..Options::default() };
    let mut stack = Stack::with(options).await;
    let customer = Customer::stocked(&stack, 100).await;
    let mut story = Story::default();

    orders(&stack, &customer, &mut story).await;
    payments(&stack, &customer, &mut story).await;
    errors(&stack, &customer, &mut story).await;
    operators(&stack, &mut story).await;
    stack.at_rest().await;
    assert!(stack.count("payments", "SELECT count(*) FROM webhook_event").await > 0);

    plant(&stack).await;
    let mut traces = stack.traces().await;
    traces.append(&mut story.answers);
    search(&stack, &customer, &traces, &story.keys).await;
}

/// Orders that are paid, declined, answered too late, and by a failure that the processor keeps.
async fn orders(stack: &Stack, customer: &Customer, story: &mut Story) {
    let route = "POST /v1/payment_intents";
    for (card, kind, end) in [
        ("pm_card_visa", None, "confirmed"),
        ("pm_card_visa_chargeDeclined", None, "cancelled"),
        ("pm_card_visa", Some("delay"), "confirmed"),
        ("pm_card_visa", Some("error_after"), "confirmed"),
    ] {
        let fault = kind.map(|kind| json!({"kinds": [kind], "route": route, "times": 1, "delay_ms": 1500}));
        stack.faults(json!(Vec::from_iter(fault))).await;
        let order = story.send(|key| customer.placing(key, 1, card)).await;
        customer.sees(order["id"].as_str().unwrap(), end).await;
        if let Some(kind) = kind {
            assert_eq!(stack.bites(kind).await, 1);
        }
    }
}

/// A purchase that is given back in part, one that is declined, and one whose refund the bank refuses.
async fn payments(stack: &Stack, customer: &Customer, story: &mut Story) {
    for card in ["pm_card_visa", "pm_card_idem_refund_pending_fails"] {
        let payment = story.send(|key| customer.charging(key, 1000, card)).await;
        let id = payment["id"].as_str().unwrap_or_else(|| panic!("{payment}")).to_owned();
        story.send(|key| customer.refunding(key, &id, 400)).await;
        story.send(|key| customer.refunding(key, &id, 4000)).await;
    }
    story.send(|key| customer.charging(key, 1000, "pm_card_visa_chargeDeclined")).await;
    eventually("people must look", async || {
        (stack.count("payments", "SELECT count(*) FROM review").await > 0).then_some(())
    })
    .await;
}

/// What is refused is told why, and not by repeating what was sent.
async fn errors(stack: &Stack, customer: &Customer, story: &mut Story) {
    let (client, used) = (http::client(), story.keys[0].clone());
    let webhook = client.post(format!("{}/v1/webhooks/provider", stack.address("payments")));
    let forged = webhook.header("Stripe-Signature", format!("t=1,v1={}", "ab".repeat(32))).body(used.clone());
    let orders = format!("{}/v1/orders", stack.address("orders"));
    let unknown = client.post(&orders).header("Idempotency-Key", &used).bearer_auth("e30.e30.e30");
    let twice = customer.placing(&used, 7, "pm_card_visa");
    let unreadable = client.post(&orders).header("Idempotency-Key", &used).bearer_auth(customer.token());
    let known = client.get(format!("{}/v1/idempotency-keys/{used}", stack.address("orders")));
    let refused = [forged, unknown, twice, unreadable.body(format!("{{\"{SECRET_KEY}\":1}}"))];
    for request in refused.into_iter().chain([known.bearer_auth(customer.token())]) {
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        // Only who asks for a key by its name reads it.
        if status != 200 {
            assert!((400..500).contains(&status), "{status}: {text}");
            story.answers.push(Trace::new(format!("answer {status}"), text));
        }
    }
}

/// People look, compare the books and verify the ledger.
async fn operators(stack: &Stack, story: &mut Story) {
    let review = "SELECT 1::bigint AS count FROM review WHERE reason = 'refund_failed'";
    assert_eq!(stack.count("payments", review).await, 1);
    let (_, listed) = stack.operate("payments", &["review", "list", "--json"]).await;
    let listed_json: Value =
        serde_json::from_str(&listed).unwrap_or_else(|error| panic!("{error}: {listed}"));
    let id = listed_json["reviews"][0]["review_id"].as_str().unwrap_or_else(|| panic!("{listed}")).to_owned();
    for words in [
        &["review", "show", &id][..],
        &["review", "resolve", &id, "--as", "captured", "--note", "the bank says so"],
        &["reconcile"],
        &["ledger", "verify"],
        &["inbox", "parked"],
        &["outbox", "status"],
    ] {
        let (code, said) = stack.operate("payments", words).await;
        assert_eq!(code, 0, "{words:?}: {said}");
        story.answers.push(Trace::new(format!("payments {}", words.join(" ")), said));
    }
    story.answers.push(Trace::new("payments review list", listed));
}

/// Where a secret is put on purpose, so that one is found: as bytes, in a column that nobody knows.
const PLANTED: &str = "payments.planted.bytes";

async fn plant(stack: &Stack) {
    let planted = format!("CREATE TABLE planted AS SELECT convert_to('{{{SECRET_KEY}}}', 'UTF8') AS bytes");
    sql_query(planted).execute(&mut stack.database("payments").owner().await).await.unwrap();
}

async fn search(stack: &Stack, customer: &Customer, traces: &[Trace], keys: &[String]) {
    let places = |needle: &str| -> BTreeSet<&str> {
        traces.iter().filter(|trace| trace.holds(needle)).map(|trace| trace.place.as_str()).collect()
    };
    // What is bound to be in such places is found there, so what is not found is not there.
    let found: BTreeSet<&str> = [customer.tenant(), TEA, "listening"].into_iter().flat_map(places).collect();
    for place in [
        "log of orders",
        "log of payments",
        "log of provider",
        "topic orders.events, header",
        "topic orders.events, payload",
        "orders.outbox_event.payload",
        "orders.idempotency_record.tenant_id",
        "answer 201",
    ] {
        assert!(found.contains(place), "{place}: {found:?}");
    }
    assert_eq!(places(SECRET_KEY), BTreeSet::from([PLANTED]), "the planted one alone");
    assert_eq!(places(WEBHOOK_SECRET), BTreeSet::new());
    for key in keys {
        let of_services = ["orders", "payments"].map(|name| format!("{name}.idempotency_record.key"));
        let found = places(key);
        let (expected, elsewhere): (Vec<&str>, Vec<&str>) =
            found.iter().partition(|place| of_services.contains(&(**place).to_owned()));
        assert_eq!((expected.len(), elsewhere), (1, vec![]), "a client's key");
    }
    for key in provider_keys(stack).await {
        let elsewhere: Vec<_> =
            places(&key).into_iter().filter(|place| !place.starts_with("provider.")).collect();
        assert_eq!(elsewhere, ["payments.processor_call.provider_key"], "the processor's key");
    }
    for trace in traces {
        let signed = trace.has_run(
            |c| c.is_ascii_alphanumeric() || c == '=',
            |run| run.strip_prefix("v1=").is_some_and(|seal| seal.len() == 64),
        );
        assert!(!signed, "a signature in {}", trace.place);
        assert!(!trace.has_run(|c| c.is_ascii_alphanumeric(), is_card), "a card in {}", trace.place);
        assert!(!trace.holds("eyJ"), "a bearer token in {}", trace.place);
    }
}

async fn provider_keys(stack: &Stack) -> Vec<String> {
    #[derive(diesel::QueryableByName)]
    struct Key {
        #[diesel(sql_type = diesel::sql_types::Text)]
        provider_key: String,
    }
    let keys: Vec<Key> = stack.load("payments", sql_query("SELECT provider_key FROM processor_call")).await;
    assert!(keys.len() >= 8, "{}", keys.len());
    keys.into_iter().map(|row| row.provider_key).collect()
}

/// As cards are numbered: 15 or 16 digits, of which the last checks the others.
fn is_card(run: &str) -> bool {
    let digits: Option<Vec<u32>> = run.chars().map(|each| each.to_digit(10)).collect();
    let Some(digits) = digits.filter(|digits| (15..=16).contains(&digits.len())) else { return false };
    let doubled = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let sum: u32 =
        digits.iter().rev().enumerate().map(|(n, d)| if n % 2 == 1 { doubled(*d) } else { *d }).sum();
    (3..=6).contains(&digits[0]) && sum.is_multiple_of(10)
}

#[test]
fn a_cards_number_is_told_from_other_digits() {
    assert!(is_card("4242424242424242") && is_card("378282246310005"));
    assert!(!is_card("4242424242424241") && !is_card("1763700000000000") && !is_card("42424242"));
}
