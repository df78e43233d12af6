//! Our books against those of the real processor: each difference is named, whoever made it.

use audits::{Database, contents};
use diesel::sql_query;
use diesel_async::RunQueryDsl;
use e2e::{Customer, SECRET_KEY, Stack, key};
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use testkit::{eventually, http};
use uuid::Uuid;

/// Our deployment's name, where nothing else is said.
const OURS: &str = "idem-dev";

/// What `payments reconcile` has found.
#[derive(Debug, PartialEq)]
struct Found {
    code: i32,
    /// Each number that is not zero.
    counts: Vec<String>,
    /// What is wrong with which of the processor's objects.
    differences: Vec<String>,
}

impl Found {
    /// It ended with this code and these numbers.
    #[track_caller]
    fn says(&self, code: i32, counts: &[&str]) {
        assert!(self.code == code && self.counts == counts, "expected {code} {counts:?}: {self:#?}");
    }
}

async fn reconcile(stack: &Stack) -> Found {
    let (code, said) = stack.operate("payments", &["reconcile", "--json"]).await;
    // Behind the report stands the log.
    let report = serde_json::Deserializer::from_str(&said).into_iter::<Value>().next();
    let report = report.and_then(Result::ok).unwrap_or_else(|| panic!("{code}: {said}"));
    let mut counts = Vec::new();
    for (of, verdicts) in report["counts"].as_object().unwrap() {
        let verdicts = verdicts.as_object().unwrap().iter().filter(|(_, number)| **number != 0);
        counts.extend(verdicts.map(|(verdict, number)| format!("{of} {verdict} {number}")));
    }
    let differences = report["differences"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let differences = differences.map(|it| format!("{} {}", text(&it["processor_id"]), text(&it["what"])));
    Found { code, counts, differences: differences.collect() }
}

/// Reconciles twice: the second time finds the same, and changes nothing.
async fn reconcile_twice(stack: &Stack) -> Found {
    let first = reconcile(stack).await;
    stack.at_rest().await;
    let mut owner = stack.database("payments").owner().await;
    let before = contents(&mut owner).await.unwrap();
    assert_eq!(reconcile(stack).await, first);
    assert_eq!(contents(&mut owner).await.unwrap(), before);
    first
}

/// What a request has made, whether that is told at once or later: its id.
async fn made(customer: &Customer, request: RequestBuilder) -> String {
    let answer = request.send().await.unwrap();
    let (status, url) = (answer.status(), answer.url().clone());
    let location = answer.headers()["location"].to_str().unwrap().to_owned();
    let mut body: Value = answer.json().await.unwrap();
    if status == 202 {
        let operation = url.join(&location).unwrap();
        body = eventually("the operation has succeeded", async || {
            let get = http::client().get(operation.clone()).bearer_auth(customer.token());
            let operation: Value = get.send().await.unwrap().json().await.unwrap();
            (operation["status"] == "succeeded").then(|| operation["reply"]["body"].clone())
        })
        .await;
    }
    body["id"].as_str().unwrap_or_else(|| panic!("{status}: {body}")).to_owned()
}

async fn charged(customer: &Customer, amount: i64, card: &str) -> String {
    made(customer, customer.charging(&key(), amount, card)).await
}

async fn refunded(customer: &Customer, payment: &str, amount: i64) -> String {
    made(customer, customer.refunding(&key(), payment, amount)).await
}

/// Takes money at the processor behind our back, an hour ago; returns the processor's name of it.
async fn take_there(stack: &Stack, reference: &str, deployment: &str, amount: i64) -> String {
    let form = format!(
        "amount={amount}&currency=eur&payment_method=pm_card_visa&payment_method_types[]=card&confirm=true\
         &metadata[reference]={reference}&metadata[deployment]={deployment}"
    );
    let post = http::client().post(format!("{}/v1/payment_intents", stack.address("provider")));
    let post = post.header("Content-Type", "application/x-www-form-urlencoded").body(form);
    let answer = post.bearer_auth(SECRET_KEY).header("Idempotency-Key", key()).send().await.unwrap();
    let intent: Value = answer.json().await.unwrap();
    assert_eq!(intent["status"], "succeeded", "{intent}");
    let id = intent["id"].as_str().unwrap().to_owned();
    // What is new there need not be known here yet.
    change(
        stack,
        "provider",
        &format!("UPDATE payment_intent SET created = created - 3600 WHERE id = '{id}'"),
    )
    .await;
    id
}

/// Changes a row behind a program's back.
async fn change(stack: &Stack, name: &str, sql: &str) {
    let changed = sql_query(sql).execute(&mut stack.database(name).owner().await).await.unwrap();
    assert_eq!(changed, 1, "{sql}");
}

async fn open_reviews(stack: &Stack) -> i64 {
    stack.count("payments", "SELECT count(*) FROM review WHERE resolution IS NULL").await
}

/// Asks everything that `audits/` asks of payments: it finds nothing.
async fn is_sound(stack: &Stack) {
    let mut owner = stack.database("payments").owner().await;
    for question in audits::ALL.iter().filter(|question| question.of.contains(&Database::Payments)) {
        assert_eq!(question.ask(&mut owner).await.unwrap(), [""; 0], "{}", question.file);
    }
}

async fn ledger_verifies(stack: &Stack) -> bool {
    let (code, said) = stack.operate("payments", &["ledger", "verify"]).await;
    assert!(code < 2, "{said}");
    code == 0
}

#[tokio::test(flavor = "multi_thread")]
async fn both_books_agree_and_each_planted_difference_is_named_once() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    customer.sees(&customer.places(2, "pm_card_visa").await, "confirmed").await;
    customer.sees(&customer.places(1, "pm_card_visa_chargeDeclined").await, "cancelled").await;
    let payment = charged(&customer, 1000, "pm_card_visa").await;
    refunded(&customer, &payment, 400).await;
    let slow = charged(&customer, 700, "pm_card_pendingRefund").await;
    refunded(&customer, &slow, 700).await;
    stack.at_rest().await;
    reconcile_twice(&stack).await.says(0, &["charges matched 4", "refunds matched 2"]);
    assert_eq!(open_reviews(&stack).await, 0);
    is_sound(&stack).await;

    let orphan = take_there(&stack, &Uuid::new_v4().to_string(), OURS, 1234).await;
    let twice = take_there(&stack, &payment, OURS, 1000).await;
    take_there(&stack, &Uuid::new_v4().to_string(), "another", 99).await;
    stack.at_rest().await;
    let found = reconcile_twice(&stack).await;
    found.says(1, &["charges foreign 1", "charges matched 4", "charges missing_here 2", "refunds matched 2"]);
    for id in [&orphan, &twice] {
        assert!(found.differences.contains(&format!("{id} missing here")), "{found:?}");
        let reviewed = format!("SELECT count(*) FROM review WHERE reason = 'orphan' AND subject_id = '{id}'");
        assert_eq!(stack.count("payments", &reviewed).await, 1);
    }
    assert_eq!(open_reviews(&stack).await, 2);
    assert!(ledger_verifies(&stack).await, "nothing of ours has changed");

    change(&stack, "payments", &format!("UPDATE payment SET amount = 1001 WHERE id = '{payment}'")).await;
    let found = reconcile_twice(&stack).await;
    found.says(
        1,
        &[
            "charges amount_differs 1",
            "charges foreign 1",
            "charges matched 3",
            "charges missing_here 2",
            "refunds matched 2",
        ],
    );
    let changed = found.differences.iter().filter(|it| it.ends_with("different amount")).count();
    assert_eq!((changed, open_reviews(&stack).await), (2, 3), "ours and theirs: {found:?}");
    assert!(!ledger_verifies(&stack).await);
}

/// A payment that is given back in full, until its bank returns the money and we know it.
struct Returned<'s> {
    stack: &'s Stack,
    customer: Customer,
    payment: String,
}

impl<'s> Returned<'s> {
    async fn given_back(stack: &'s Stack) -> Self {
        let customer = Customer::of(stack);
        let payment = charged(&customer, 1000, "pm_card_refundFail").await;
        refunded(&customer, &payment, 1000).await;
        Self { stack, customer, payment }
    }

    /// It failed after all: what was posted is posted back, the amount is free, and people look.
    async fn has_failed(&self) {
        let stack = self.stack;
        let failed = "SELECT count(*) FROM refund WHERE state = 'failed'";
        eventually("the return is known", async || {
            (stack.count("payments", failed).await == 1).then_some(())
        })
        .await;
        for (expected, sql) in [
            (0, "SELECT refund_reserved AS count FROM payment"),
            (1, "SELECT count(*) FROM review WHERE reason = 'refund_returned' AND resolution IS NULL"),
            (1, "SELECT count(*) FROM ledger_transaction WHERE kind = 'refund'"),
            (1, "SELECT count(*) FROM ledger_transaction WHERE kind = 'refund_reversal'"),
            (
                1000,
                "SELECT sum(amount)::bigint AS count FROM ledger_entry WHERE account = 'refunds' AND amount > 0",
            ),
            (0, "SELECT sum(amount)::bigint AS count FROM ledger_entry WHERE account = 'refunds'"),
        ] {
            assert_eq!(stack.count("payments", sql).await, expected, "{sql}");
        }
        reconcile(stack).await.says(0, &["charges matched 1", "refunds matched 1"]);
        assert!(ledger_verifies(stack).await);
        is_sound(stack).await;
        refunded(&self.customer, &self.payment, 1000).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_that_the_bank_returns_is_told_by_the_processor_and_posted_back() {
    let stack = Stack::start().await;
    let returned = Returned::given_back(&stack).await;
    returned.has_failed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_return_that_nobody_told_is_found_by_the_reconciliation() {
    let stack = Stack::start().await;
    stack.faults(json!([{"kinds": ["late_webhook"], "delay_ms": 60_000}])).await;
    let returned = Returned::given_back(&stack).await;
    let there = "SELECT count(*) FROM refund WHERE status = 'failed'";
    eventually("it is returned", async || (stack.count("provider", there).await == 1).then_some(())).await;
    assert_eq!(stack.count("payments", "SELECT count(*) FROM refund WHERE state = 'succeeded'").await, 1);
    reconcile(&stack).await.says(1, &["charges matched 1", "refunds unsettled 1"]);
    assert_eq!(stack.count("payments", "SELECT count(*) FROM webhook_event").await, 0);
    returned.has_failed().await;
}
