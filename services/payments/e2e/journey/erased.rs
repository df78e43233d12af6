//! Erasure on request: no table, topic or log has the texts of the person any more. Orders, money and stock do not change.

use std::collections::BTreeSet;

use contracts::{Currency, Money};
use e2e::{Customer, Part, Request, Stack, TEA};
use harness::orders::place_order;
use harness::payments::{charge, refund};
use serde_json::{Value, json};
use uuid::Uuid;

const CARD: &str = "pm_card_visa";

/// A customer who writes the same name into every text that a client can send.
struct Writer {
    customer: Customer,
    name: String,
    /// The first order, which was sent with `name` as its reference.
    order: Request,
}

impl Writer {
    async fn at(stack: &Stack) -> Self {
        let (customer, name) = (Customer::stocked(stack, 100).await, format!("maria-{}", Uuid::new_v4()));
        customer.buys(1).await; // orders knows the item now
        let order = place_order(&[(TEA, 1)], &name);
        let writer = Self { customer, name, order };
        let placed = writer.made(&writer.order).await;
        writer.customer.sees(placed, "confirmed").await;
        let paid = writer.made(&writer.about(charge(euros(1000), CARD), "reference")).await;
        writer.made(&writer.about(refund(paid, euros(400)), "reason")).await;
        let adjustment = json!({ "delta": -1, "reason": writer.name });
        let adjust = Request::post(Part::INVENTORY, format!("/v1/items/{TEA}/adjustments"), &adjustment);
        writer.made(&adjust).await;
        writer.cancels(stack).await;
        writer
    }

    /// An order with another reference, cancelled with a note while its charge is in flight.
    async fn cancels(&self, stack: &Stack) {
        let delay = json!([{ "kinds": ["delay"], "route": "POST /v1/payment_intents", "times": 1, "delay_ms": 2000 }]);
        stack.faults(delay).await;
        let order = self.made(&place_order(&[(TEA, 1)], "another")).await;
        let cancel = format!("/v1/orders/{order}/cancel");
        let cancelled = Request::post(Part::ORDERS, cancel, &json!({ "reason": self.name }));
        assert_eq!(self.customer.send(&cancelled).await.status, 200);
        stack.no_faults().await;
    }

    /// The request with the name in this member of its body.
    fn about(&self, request: Request, member: &str) -> Request {
        let mut body: Value = serde_json::from_str(request.body.as_deref().unwrap()).unwrap();
        body[member] = json!(self.name);
        Request { body: Some(body.to_string()), ..request }
    }

    /// Sends the request until it has succeeded. Returns the id of what it made.
    async fn made(&self, request: &Request) -> Uuid {
        self.customer.api.complete(request).await.unwrap()["id"].as_str().unwrap().parse().unwrap()
    }

    /// `SERVICE erase` for this tenant.
    async fn erase(&self, stack: &Stack, part: Part, words: &[&str]) -> Value {
        let by = [
            "erase",
            "--tenant",
            self.customer.tenant(),
            "--by",
            "kim",
            "--reason",
            "asked for it",
            "--json",
        ];
        let output = stack.operate(part, &[&by, words].concat()).await;
        assert!(output.is_success(), "{output:?}");
        serde_json::from_str(&output.stdout).unwrap()
    }
}

fn euros(amount: i64) -> Money {
    Money::new(amount, Currency::Eur)
}

/// The places that hold a name.
async fn places(stack: &mut Stack, name: &str) -> BTreeSet<String> {
    let leftovers = stack.leftovers().await;
    leftovers.into_iter().filter(|leftover| leftover.contains(name)).map(|leftover| leftover.place).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_removes_the_texts_of_a_tenant_everywhere_and_changes_nothing_else() {
    let mut stack = Stack::start().await;
    let (writer, neighbour) = (Writer::at(&stack).await, Writer::at(&stack).await);
    stack.at_rest().await;
    let written = places(&mut stack, &writer.name).await;
    for place in [
        "inventory.idempotency_snapshot.body",
        "inventory.stock_movement.reason",
        "orders.idempotency_snapshot.body",
        "orders.orders.cancel_note",
        "orders.orders.reference",
        "payments.idempotency_operation.body",
        "payments.payment.reference",
        "payments.refund.reason",
    ] {
        assert!(written.contains(place), "{place} is not in {written:?}");
    }
    let kept = places(&mut stack, &neighbour.name).await;

    // By reference: the order and the payment that have it; not the cancelled order.
    let by_reference = ["--reference", &writer.name];
    let planned = writer.erase(&stack, Part::ORDERS, &[&by_reference[..], &["--dry-run"]].concat()).await;
    assert_eq!(places(&mut stack, &writer.name).await, written, "a dry run changes nothing");
    let erased = writer.erase(&stack, Part::ORDERS, &by_reference).await;
    assert_eq!((&erased["rows"], &erased["responses"]), (&json!(1), &json!(1)));
    assert_eq!((&planned["rows"], &planned["responses"]), (&erased["rows"], &erased["responses"]));
    let left = places(&mut stack, &writer.name).await;
    assert!(
        !left.contains("orders.orders.reference") && left.contains("orders.orders.cancel_note"),
        "{left:?}"
    );

    // The response is gone, and the order is not placed again.
    let orders = stack.count(Part::ORDERS, "SELECT count(*) FROM orders").await;
    let again = writer.customer.send(&writer.order).await;
    assert_eq!((again.status, &again.json()["code"]), (409, &json!("idempotency-key-expired")));
    assert_eq!(stack.count(Part::ORDERS, "SELECT count(*) FROM orders").await, orders);

    for part in Part::SERVICES {
        writer.erase(&stack, part, &[]).await;
        assert_eq!(writer.erase(&stack, part, &[]).await["responses"], 0, "a repetition finds nothing");
    }
    assert_eq!(places(&mut stack, &writer.name).await, BTreeSet::new());
    assert_eq!(places(&mut stack, &neighbour.name).await, kept, "another tenant's texts stay");
    let replayed = neighbour.customer.send(&neighbour.order).await;
    assert!(replayed.is_replay(), "another tenant's responses stay: {}", replayed.status);
    let facts = "SELECT count(*) FROM audit_fact WHERE action = 'texts.erase' AND actor = '@operator:kim'";
    assert_eq!(stack.count(Part::ORDERS, facts).await, 3, "one fact for each run, and none for a dry run");
    holds(&stack).await;
}

/// Every invariant holds.
async fn holds(stack: &Stack) {
    for asked in stack.books().audit().await {
        assert_eq!(asked.found().unwrap(), [""; 0], "{asked:?}");
    }
}
