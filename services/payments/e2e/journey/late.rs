//! The processor's response comes late: after the order's life, before or after its expiry, behind its own webhooks.

use e2e::{Customer, Options, Part, Stack};
use serde_json::json;
use testkit::eventually;
use uuid::Uuid;

const CHARGE: &str = "POST /v1/payment_intents";

/// The price of an order for two pieces.
const COST: i64 = 900;

async fn stack(expiry_seconds: u32) -> (Stack, Customer) {
    let options =
        Options { expiry_seconds: Some(expiry_seconds), lease_seconds: Some(2), ..Options::default() };
    let stack = Stack::with(options).await;
    let customer = Customer::stocked(&stack, 10).await;
    (stack, customer)
}

/// Waits until nothing is in progress; the order has expired, and its stock is released.
async fn expired(stack: &Stack, customer: &Customer, order: Uuid) {
    stack.at_rest().await;
    assert_eq!(customer.order(order).await.outcome(), "cancelled/expired");
    let stock = customer.stock().await;
    assert_eq!((stock.on_hand, stock.reserved), (10, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_processor_away_longer_than_an_order_lives_a_late_capture_is_refunded() {
    let (stack, customer) = stack(3).await;
    // The charge is made, its response is lost, and from then on the processor is away.
    stack
        .faults(json!([
            {"kinds": ["drop_reply"], "route": CHARGE, "times": 1},
            {"kinds": ["outage"]},
            {"kinds": ["late_webhook"], "delay_ms": 60_000},
        ]))
        .await;
    let order = customer.places(2).await;
    stack.captures_and_refunds(COST, 0).await;
    customer.sees(order, "cancelled/expired").await;
    eventually("the stock is released", async || (customer.stock().await.reserved == 0).then_some(())).await;
    let in_doubt = "SELECT count(*) FROM payment WHERE state = 'unknown' AND cancel_requested";
    stack.counts(Part::PAYMENTS, in_doubt, 1).await;
    assert!(stack.fault_count("outage").await > 0);

    stack.no_faults().await;
    stack.captures_and_refunds(COST, COST).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_processor_away_before_the_charge_an_order_expires_and_is_never_charged() {
    let (stack, customer) = stack(2).await;
    stack.faults(json!([{"kinds": ["rate_limit"], "route": CHARGE}])).await;
    let order = customer.places(2).await;
    customer.sees(order, "cancelled/expired").await;
    stack.counts(Part::PAYMENTS, "SELECT count(*) FROM payment WHERE state = 'cancelled'", 1).await;
    stack.no_faults().await;
    expired(&stack, &customer, order).await;
    assert_eq!(stack.captured_and_refunded().await, (0, 0));
}

/// A crash point sets the order of events: the response is read, and payments dies before it stores the outcome.
#[tokio::test(flavor = "multi_thread")]
async fn a_capture_recorded_after_the_expiry_is_refunded() {
    let (mut stack, customer) = stack(3).await;
    stack.stop("payments").await;
    stack.launch_ready("payments", &[("IDEM_CRASH", "charge.response_read:1")]).await;
    let order = customer.places(2).await;
    stack.killed_itself("payments", "charge.response_read").await;
    assert_eq!(stack.captured_and_refunded().await, (COST, 0));
    customer.sees(order, "cancelled/expired").await;
    stack.launch_ready("payments", &[]).await;
    expired(&stack, &customer, order).await;
    assert_eq!(stack.captured_and_refunded().await, (COST, COST));
}

/// The other order: the capture is committed while `orders` is away, and the order is due when `orders` is back.
#[tokio::test(flavor = "multi_thread")]
async fn an_expiry_after_the_announced_capture_ends_in_one_of_the_two() {
    let (mut stack, customer) = stack(4).await;
    let order = customer.places_with(2, "pm_card_idem_slow").await;
    // The request for the payment must be published, because the relay dies with `orders`.
    stack.counts(Part::PAYMENTS, "SELECT count(*) FROM payment", 1).await;
    stack.kill("orders").await;
    let captured = "SELECT count(*) FROM outbox_event WHERE type LIKE '%PaymentCaptured%'";
    stack.counts(Part::PAYMENTS, captured, 1).await;
    stack.counts(Part::ORDERS, "SELECT count(*) FROM orders WHERE expires_at < clock_timestamp()", 1).await;
    stack.launch_ready("orders", &[]).await;
    stack.at_rest().await;
    let confirmed = customer.order(order).await.status == "confirmed";
    let expected = if confirmed { (COST, 0) } else { (COST, COST) };
    assert_eq!(stack.captured_and_refunded().await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn early_repeated_and_reordered_webhooks_change_nothing() {
    let (stack, customer) = stack(60).await;
    stack
        .faults(json!([
            {"kinds": ["drop_reply"], "route": CHARGE, "times": 1},
            {"kinds": ["duplicate_webhook"], "event": "payment_intent.succeeded"},
            {"kinds": ["disordered_webhooks"], "delay_ms": 800},
        ]))
        .await;
    customer.buys(2).await;
    stack.at_rest().await;
    assert!(stack.fault_count("duplicate_webhook").await > 0 && stack.fault_count("drop_reply").await == 1);
    assert_eq!(stack.captured_and_refunded().await, (COST, 0));
    let captures = "SELECT count(*) FROM ledger_transaction WHERE kind = 'capture'";
    assert_eq!(stack.count(Part::PAYMENTS, captures).await, 1);
    let stored = stack.count(Part::PAYMENTS, "SELECT count(*) FROM webhook_event").await;
    let made = stack.count(Part::PROVIDER, "SELECT count(*) FROM event").await;
    assert_eq!(stored, made, "each event once");
}
