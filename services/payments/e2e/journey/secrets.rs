//! Secrets and keys are only where they must be. The test runs through many kinds of failure, and then searches everything
//! that the installation has left behind.

use std::collections::BTreeSet;

use contracts::{Currency, Money};
use diesel::sql_query;
use e2e::payments::{SECRET_KEY, WEBHOOK_SECRET};
use e2e::{Customer, Leftover, Options, Part, Request, Stack, TEA};
use harness::payments::{charge, refund, webhook};
use serde_json::{Value, json};
use testkit::{eventually, http};

/// The keys that the customer sent, and the responses.
#[derive(Default)]
struct Exchange {
    keys: Vec<String>,
    responses: Vec<Leftover>,
}

impl Exchange {
    /// Sends until the response is final; returns its body.
    async fn send(&mut self, customer: &Customer, request: Request) -> Value {
        let mut all = Vec::new();
        let body = eventually("a final response", async || {
            let response = customer.send(&request).await;
            let text = format!("{:?}{}", response.headers, String::from_utf8_lossy(&response.body));
            all.push(Leftover::new(format!("response {}", response.status), text));
            Some(response.json()).filter(|body| body["retryable"] != true)
        })
        .await;
        self.responses.extend(all);
        self.keys.extend(request.key);
        body
    }
}

const LEVEL: &str = "debug,h2=info";

#[tokio::test(flavor = "multi_thread")]
async fn secrets_and_keys_are_stored_only_where_they_must_be() {
    let options = Options { lease_seconds: Some(2), log_level: Some(LEVEL), ..Options::default() };
    let mut stack = Stack::with(options).await;
    let customer = Customer::stocked(&stack, 100).await;
    let mut exchange = Exchange::default();

    orders(&stack, &customer, &mut exchange).await;
    payments(&stack, &customer, &mut exchange).await;
    errors(&stack, &customer, &mut exchange).await;
    operators(&stack, &mut exchange).await;
    stack.at_rest().await;
    assert!(stack.count(Part::PAYMENTS, "SELECT count(*) FROM webhook_event").await > 0);

    plant(&stack).await;
    let mut leftovers = stack.leftovers().await;
    leftovers.append(&mut exchange.responses);
    search(&stack, &customer, &leftovers, &exchange.keys).await;
}

/// Orders that are paid, that are declined, and whose charge is answered late or with a stored failure.
async fn orders(stack: &Stack, customer: &Customer, exchange: &mut Exchange) {
    let route = "POST /v1/payment_intents";
    for (card, kind, outcome) in [
        ("pm_card_visa", None, "confirmed"),
        ("pm_card_visa_chargeDeclined", None, "cancelled/declined"),
        ("pm_card_visa", Some("delay"), "confirmed"),
        ("pm_card_visa", Some("error_after"), "confirmed"),
    ] {
        let fault = kind.map(|kind| json!({"kinds": [kind], "route": route, "times": 1, "delay_ms": 1500}));
        stack.faults(json!(Vec::from_iter(fault))).await;
        let order = exchange.send(customer, customer.tea(1).paid_with(card)).await;
        customer.sees(order["id"].as_str().unwrap().parse().unwrap(), outcome).await;
        if let Some(kind) = kind {
            assert_eq!(stack.fault_count(kind).await, 1);
        }
    }
}

/// A payment with a refund, a declined payment, and a payment whose refund the bank refuses.
async fn payments(stack: &Stack, customer: &Customer, exchange: &mut Exchange) {
    let euros = |amount| Money::new(amount, Currency::Eur);
    for card in ["pm_card_visa", "pm_card_idem_refund_pending_fails"] {
        let payment = exchange.send(customer, charge(euros(1000), card)).await;
        let id = payment["id"].as_str().unwrap_or_else(|| panic!("{payment}")).parse().unwrap();
        exchange.send(customer, refund(id, euros(400))).await;
        exchange.send(customer, refund(id, euros(4000))).await;
    }
    exchange.send(customer, charge(euros(1000), "pm_card_visa_chargeDeclined")).await;
    eventually("a review is open", async || {
        (stack.count(Part::PAYMENTS, "SELECT count(*) FROM review").await > 0).then_some(())
    })
    .await;
}

/// Refused requests name the reason, and do not repeat what was sent.
async fn errors(stack: &Stack, customer: &Customer, exchange: &mut Exchange) {
    let used = exchange.keys[0].clone();
    let forged = webhook(&used, &format!("t=1,v1={}", "ab".repeat(32)));
    let other_body = customer.tea(7).with_key(&used);
    let unreadable = Request { body: Some(format!("{{\"{SECRET_KEY}\":1}}")), ..other_body.clone() };
    let key = Request::get(Part::ORDERS, format!("/v1/idempotency-keys/{used}"));
    let mut refused = Vec::new();
    for request in [forged, other_body, unreadable, key] {
        refused.push(customer.send(&request).await);
    }
    let order = http::client().post(format!("http://{}/v1/orders", stack.address("orders")));
    let unknown = order.header("Idempotency-Key", &used).bearer_auth("e30.e30.e30").send().await.unwrap();
    assert_eq!(unknown.status(), 401);
    exchange.responses.push(Leftover::new("response 401", unknown.text().await.unwrap()));
    for response in refused {
        let text = String::from_utf8_lossy(&response.body).into_owned();
        // Only a request for the key itself may show it.
        if response.status != 200 {
            assert!((400..500).contains(&response.status), "{}: {text}", response.status);
            exchange.responses.push(Leftover::new(format!("response {}", response.status), text));
        }
    }
}

/// Operators resolve a review, reconcile, and audit the books.
async fn operators(stack: &Stack, exchange: &mut Exchange) {
    let review = "SELECT 1::bigint AS count FROM review WHERE reason = 'refund_failed'";
    assert_eq!(stack.count(Part::PAYMENTS, review).await, 1);
    let listed = stack.operate(Part::PAYMENTS, &["review", "list", "--json"]).await;
    let list: Value = serde_json::from_str(&listed.stdout).unwrap_or_else(|_| panic!("{listed:?}"));
    let id = list["reviews"][0]["review_id"].as_str().unwrap_or_else(|| panic!("{list}")).to_owned();
    for words in [
        &["review", "show", &id][..],
        &["review", "resolve", &id, "--as", "captured", "--reason", "the bank says so", "--by", "dana"],
        &["reconcile"],
        &["audit"],
        &["inbox", "parked"],
        &["outbox", "status"],
    ] {
        let output = stack.operate(Part::PAYMENTS, words).await;
        assert!(output.is_success(), "{words:?}: {output:?}");
        exchange.responses.push(Leftover::new(format!("payments {}", words.join(" ")), output.text()));
    }
    exchange.responses.push(Leftover::new("payments review list", listed.text()));
}

/// A secret is planted here, as bytes, so that the search is seen to find one.
const PLANTED: &str = "payments.planted.bytes";

async fn plant(stack: &Stack) {
    let planted = format!("CREATE TABLE planted AS SELECT convert_to('{{{SECRET_KEY}}}', 'UTF8') AS bytes");
    let mut owner = stack.database(Part::PAYMENTS).owner().await;
    diesel_async::RunQueryDsl::execute(sql_query(planted), &mut owner).await.unwrap();
}

async fn search(stack: &Stack, customer: &Customer, leftovers: &[Leftover], keys: &[String]) {
    let places = |needle: &str| -> BTreeSet<&str> {
        leftovers
            .iter()
            .filter(|leftover| leftover.contains(needle))
            .map(|leftover| leftover.place.as_str())
            .collect()
    };
    // These places contain known texts. Because the search finds those, it would find a secret there, too.
    let found: BTreeSet<&str> = [customer.tenant(), TEA, "listening"].into_iter().flat_map(places).collect();
    for place in [
        "log of orders",
        "log of payments",
        "log of provider",
        "topic orders.events, header",
        "topic orders.events, payload",
        "orders.outbox_event.payload",
        "orders.idempotency_record.tenant_id",
        "response 201",
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
    for leftover in leftovers {
        let signed = leftover.has_run(
            |c| c.is_ascii_alphanumeric() || c == '=',
            |run| run.strip_prefix("v1=").is_some_and(|digits| digits.len() == 64),
        );
        assert!(!signed, "a signature in {}", leftover.place);
        assert!(!leftover.has_run(|c| c.is_ascii_alphanumeric(), is_card), "a card in {}", leftover.place);
        assert!(!leftover.contains("eyJ"), "a bearer token in {}", leftover.place);
    }
}

async fn provider_keys(stack: &Stack) -> Vec<String> {
    #[derive(diesel::QueryableByName)]
    struct Key {
        #[diesel(sql_type = diesel::sql_types::Text)]
        provider_key: String,
    }
    let query = sql_query("SELECT provider_key FROM processor_call");
    let keys: Vec<Key> = stack.books().load(Part::PAYMENTS, query).await.unwrap();
    assert!(keys.len() >= 8, "{}", keys.len());
    keys.into_iter().map(|row| row.provider_key).collect()
}

/// The number of a card: 15 or 16 digits with a correct check digit.
fn is_card(run: &str) -> bool {
    let digits: Option<Vec<u32>> = run.chars().map(|each| each.to_digit(10)).collect();
    let Some(digits) = digits.filter(|digits| (15..=16).contains(&digits.len())) else { return false };
    let doubled = |digit: u32| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let sum: u32 =
        digits.iter().rev().enumerate().map(|(n, d)| if n % 2 == 1 { doubled(*d) } else { *d }).sum();
    (3..=6).contains(&digits[0]) && sum.is_multiple_of(10)
}

#[test]
fn a_card_number_is_distinguished_from_other_digits() {
    assert!(is_card("4242424242424242") && is_card("378282246310005"));
    assert!(!is_card("4242424242424241") && !is_card("1763700000000000") && !is_card("42424242"));
}
