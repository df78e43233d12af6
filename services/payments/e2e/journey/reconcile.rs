//! `payments reconcile` against the processor's own books: each difference is named, whichever side made it.

use audits::{Database, contents};
use contracts::{Currency, Money};
use diesel::sql_query;
use diesel_async::RunQueryDsl;
use e2e::payments::SECRET_KEY;
use e2e::{Customer, Part, Request, Stack};
use harness::payments::{charge, refund};
use serde_json::{Value, json};
use testkit::http;
use uuid::Uuid;

/// The report of `payments reconcile`.
#[derive(Debug, PartialEq)]
struct ReconcileOutput {
    code: i32,
    /// Each number that is not zero.
    counts: Vec<String>,
    /// The id at the processor, and the kind of the difference.
    differences: Vec<String>,
}

impl ReconcileOutput {
    /// Asserts the exit code and the numbers.
    #[track_caller]
    fn is(&self, code: i32, counts: &[&str]) {
        assert!(self.code == code && self.counts == counts, "expected {code} {counts:?}: {self:#?}");
    }
}

async fn reconcile(stack: &Stack) -> ReconcileOutput {
    let output = stack.operate(Part::PAYMENTS, &["reconcile", "--json"]).await;
    let report: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let mut counts = Vec::new();
    for (of, verdicts) in report["counts"].as_object().unwrap() {
        let verdicts = verdicts.as_object().unwrap().iter().filter(|(_, number)| **number != 0);
        counts.extend(verdicts.map(|(verdict, number)| format!("{of} {verdict} {number}")));
    }
    let differences = report["differences"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let differences = differences.map(|it| format!("{} {}", text(&it["processor_id"]), text(&it["what"])));
    ReconcileOutput { code: output.code.unwrap(), counts, differences: differences.collect() }
}

/// Reconciles twice: the second time finds the same, and changes nothing.
async fn reconcile_twice(stack: &Stack) -> ReconcileOutput {
    let first = reconcile(stack).await;
    stack.at_rest().await;
    let mut owner = stack.database(Part::PAYMENTS).owner().await;
    let before = contents(&mut owner).await.unwrap();
    assert_eq!(reconcile(stack).await, first);
    assert_eq!(contents(&mut owner).await.unwrap(), before);
    first
}

fn euros(amount: i64) -> Money {
    Money::new(amount, Currency::Eur)
}

/// Sends a charge or a refund, and waits for its outcome; returns the id of what it made.
async fn made(customer: &Customer, request: &Request) -> Uuid {
    let made = customer.api.complete(request).await.unwrap();
    made["id"].as_str().unwrap().parse().unwrap()
}

async fn charged(customer: &Customer, amount: i64, card: &str) -> Uuid {
    made(customer, &charge(euros(amount), card)).await
}

async fn refunded(customer: &Customer, payment: Uuid, amount: i64) -> Uuid {
    made(customer, &refund(payment, euros(amount))).await
}

/// Charges a card at the processor without our service, an hour ago; returns the id at the processor.
async fn take_there(stack: &Stack, reference: Uuid, deployment: &str, amount: i64) -> String {
    let form = format!(
        "amount={amount}&currency=eur&payment_method=pm_card_visa&payment_method_types[]=card&confirm=true\
         &metadata[reference]={reference}&metadata[deployment]={deployment}"
    );
    let post = http::client().post(format!("http://{}/v1/payment_intents", stack.address("provider")));
    let post = post.header("Content-Type", "application/x-www-form-urlencoded").body(form);
    let response = post
        .bearer_auth(SECRET_KEY)
        .header("Idempotency-Key", Uuid::new_v4().to_string())
        .send()
        .await
        .unwrap();
    let intent: Value = response.json().await.unwrap();
    assert_eq!(intent["status"], "succeeded", "{intent}");
    let id = intent["id"].as_str().unwrap().to_owned();
    // A new charge would not have to be known to us yet.
    change(
        stack,
        Part::PROVIDER,
        &format!("UPDATE payment_intent SET created = created - 3600 WHERE id = '{id}'"),
    )
    .await;
    id
}

/// Changes one row without the program.
async fn change(stack: &Stack, part: Part, sql: &str) {
    let changed = sql_query(sql).execute(&mut stack.database(part).owner().await).await.unwrap();
    assert_eq!(changed, 1, "{sql}");
}

async fn open_reviews(stack: &Stack) -> i64 {
    stack.count(Part::PAYMENTS, "SELECT count(*) FROM review WHERE resolution IS NULL").await
}

/// Asks every question of `audits/` to payments: there is no violation.
async fn is_sound(stack: &Stack) {
    let books = stack.books();
    for question in audits::of_service("payments") {
        assert_eq!(
            books.ask(Database::of("payments"), question).await.unwrap(),
            [""; 0],
            "{}",
            question.file
        );
    }
}

/// Returns whether the ledger says what happened, as its audit has it.
async fn ledger_is_sound(stack: &Stack) -> bool {
    let question = audits::all()
        .find(|question| question.file == "services/payments/audits/the_ledger_says_what_happened.sql");
    stack.books().ask(Database::of("payments"), question.unwrap()).await.unwrap().is_empty()
}

#[tokio::test(flavor = "multi_thread")]
async fn both_books_agree_and_each_planted_difference_is_named_once() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    customer.buys(2).await;
    customer.sees(customer.places_with(1, "pm_card_visa_chargeDeclined").await, "cancelled/declined").await;
    let payment = charged(&customer, 1000, "pm_card_visa").await;
    refunded(&customer, payment, 400).await;
    let slow = charged(&customer, 700, "pm_card_pendingRefund").await;
    refunded(&customer, slow, 700).await;
    stack.at_rest().await;
    reconcile_twice(&stack).await.is(0, &["charges matched 4", "refunds matched 2"]);
    assert_eq!(open_reviews(&stack).await, 0);
    is_sound(&stack).await;

    let kafka = stack.kafka();
    let ours = kafka.topics.deployment();
    let orphan = take_there(&stack, Uuid::new_v4(), ours, 1234).await;
    let twice = take_there(&stack, payment, ours, 1000).await;
    take_there(&stack, Uuid::new_v4(), "another", 99).await;
    stack.at_rest().await;
    let found = reconcile_twice(&stack).await;
    found.is(1, &["charges foreign 1", "charges matched 4", "charges missing_here 2", "refunds matched 2"]);
    for id in [&orphan, &twice] {
        assert!(found.differences.contains(&format!("{id} missing_here")), "{found:?}");
        let reviewed = format!("SELECT count(*) FROM review WHERE reason = 'orphan' AND subject_id = '{id}'");
        assert_eq!(stack.count(Part::PAYMENTS, &reviewed).await, 1);
    }
    assert_eq!(open_reviews(&stack).await, 2);
    assert!(ledger_is_sound(&stack).await, "nothing in our books has changed");

    change(&stack, Part::PAYMENTS, &format!("UPDATE payment SET amount = 1001 WHERE id = '{payment}'")).await;
    let found = reconcile_twice(&stack).await;
    found.is(
        1,
        &[
            "charges amount_differs 1",
            "charges foreign 1",
            "charges matched 3",
            "charges missing_here 2",
            "refunds matched 2",
        ],
    );
    let changed = found.differences.iter().filter(|it| it.ends_with("amount_differs")).count();
    assert_eq!((changed, open_reviews(&stack).await), (2, 3), "ours and theirs: {found:?}");
    assert!(!ledger_is_sound(&stack).await);
}

/// A payment whose refund the bank will return.
struct ReturnedRefund<'s> {
    stack: &'s Stack,
    customer: Customer,
    payment: Uuid,
}

impl<'s> ReturnedRefund<'s> {
    async fn of(stack: &'s Stack) -> Self {
        let customer = Customer::of(stack);
        let payment = charged(&customer, 1000, "pm_card_refundFail").await;
        refunded(&customer, payment, 1000).await;
        Self { stack, customer, payment }
    }

    /// Waits until payments knows of the return: the posting is reversed, the amount is free again, and a review is open.
    async fn has_failed(&self) {
        let stack = self.stack;
        stack.counts(Part::PAYMENTS, "SELECT count(*) FROM refund WHERE state = 'failed'", 1).await;
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
            assert_eq!(stack.count(Part::PAYMENTS, sql).await, expected, "{sql}");
        }
        reconcile(stack).await.is(0, &["charges matched 1", "refunds matched 1"]);
        assert!(ledger_is_sound(stack).await);
        is_sound(stack).await;
        refunded(&self.customer, self.payment, 1000).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_that_the_bank_returns_is_announced_by_the_processor_and_posted_back() {
    let stack = Stack::start().await;
    ReturnedRefund::of(&stack).await.has_failed().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_return_without_a_webhook_is_found_by_the_reconciliation() {
    let stack = Stack::start().await;
    stack.faults(json!([{"kinds": ["late_webhook"], "delay_ms": 60_000}])).await;
    let returned = ReturnedRefund::of(&stack).await;
    stack.counts(Part::PROVIDER, "SELECT count(*) FROM refund WHERE status = 'failed'", 1).await;
    let succeeded = "SELECT count(*) FROM refund WHERE state = 'succeeded'";
    assert_eq!(stack.count(Part::PAYMENTS, succeeded).await, 1);
    reconcile(&stack).await.is(1, &["charges matched 1", "refunds unsettled 1"]);
    assert_eq!(stack.count(Part::PAYMENTS, "SELECT count(*) FROM webhook_event").await, 0);
    returned.has_failed().await;
}
