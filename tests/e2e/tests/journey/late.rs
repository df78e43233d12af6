//! The processor's answer comes late: after the order's life, before or after its expiry, behind its own webhooks.

use e2e::{Customer, Options, Stack, TEA};
use serde_json::json;
use testkit::eventually;

const CHARGE: &str = "POST /v1/payment_intents";

/// What an order of two costs.
const COST: i64 = 900;

async fn stack(expiry_seconds: u32) -> (Stack, Customer) {
    let options =
        Options { expiry_seconds: Some(expiry_seconds), lease_seconds: Some(2), ..Options::default() };
    let stack = Stack::with(options).await;
    let customer = Customer::stocked(&stack, 10).await;
    (stack, customer)
}

/// Waits until everything has ended, and the customer's order has too; nobody has anything that they should not.
async fn given_back(stack: &Stack, customer: &Customer, order: &str) {
    stack.at_rest().await;
    assert_eq!(customer.order(order).await["cancellation"]["reason"], "expired");
    let item = customer.item(TEA).await;
    assert_eq!((&item["on_hand"], &item["reserved"]), (&json!(10), &json!(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_processor_away_for_longer_than_an_order_lives_a_late_capture_is_given_back() {
    let (stack, customer) = stack(3).await;
    // The charge is made; nobody hears of it, and from then on the processor is away.
    stack
        .faults(json!([
            {"kinds": ["drop_reply"], "route": CHARGE, "times": 1},
            {"kinds": ["outage"]},
            {"kinds": ["late_webhook"], "delay_ms": 60_000},
        ]))
        .await;
    let order = customer.places(2, "pm_card_visa").await;
    eventually("the charge is made", async || (stack.taken_and_returned().await == (COST, 0)).then_some(()))
        .await;
    let ended = customer.sees(&order, "cancelled").await;
    assert_eq!(ended["cancellation"]["reason"], "expired");
    eventually("the stock is there again", async || {
        (customer.item(TEA).await["reserved"] == 0).then_some(())
    })
    .await;
    let in_doubt = "SELECT count(*) FROM payment WHERE state = 'unknown' AND cancel_requested";
    eventually("the cancellation is heard", async || {
        (stack.count("payments", in_doubt).await == 1).then_some(())
    })
    .await;
    assert!(stack.bites("outage").await > 0);

    stack.faults(json!([])).await;
    eventually("it is given back", async || (stack.taken_and_returned().await == (COST, COST)).then_some(()))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_processor_away_before_the_charge_an_order_expires_and_is_never_charged() {
    let (stack, customer) = stack(2).await;
    stack.faults(json!([{"kinds": ["rate_limit"], "route": CHARGE}])).await;
    let order = customer.places(2, "pm_card_visa").await;
    customer.sees(&order, "cancelled").await;
    eventually("nothing is asked any more", async || {
        let called_off = "SELECT count(*) FROM payment WHERE state = 'cancelled'";
        (stack.count("payments", called_off).await == 1).then_some(())
    })
    .await;
    stack.faults(json!([])).await;
    given_back(&stack, &customer, &order).await;
    assert_eq!(stack.taken_and_returned().await, (0, 0));
}

/// The barrier is a crash point: the answer is read, and payments dies before it is recorded.
#[tokio::test(flavor = "multi_thread")]
async fn a_capture_that_is_recorded_after_the_expiry_is_given_back() {
    let (mut stack, customer) = stack(3).await;
    stack.program("payments").terminate();
    stack.program("payments").ended().await;
    stack.launch_ready("payments", &[("IDEM_CRASH", "charge.response_read:1")]).await;
    let order = customer.places(2, "pm_card_visa").await;
    stack.program("payments").ended().await;
    assert!(stack.program("payments").was_killed());
    assert_eq!(stack.taken_and_returned().await, (COST, 0));
    customer.sees(&order, "cancelled").await;
    stack.launch_ready("payments", &[]).await;
    given_back(&stack, &customer, &order).await;
    assert_eq!(stack.taken_and_returned().await, (COST, COST));
}

/// The other way round: the capture is told, and the expiry comes to it while `orders` is away.
#[tokio::test(flavor = "multi_thread")]
async fn an_expiry_that_comes_after_the_capture_was_told_ends_in_one_of_the_two() {
    let (mut stack, customer) = stack(4).await;
    let order = customer.places(2, "pm_card_idem_slow").await;
    // Asked for, not only decided: what a relay has not published yet waits until `orders` is back.
    eventually("the payment is asked for", async || {
        (stack.count("payments", "SELECT count(*) FROM payment").await == 1).then_some(())
    })
    .await;
    stack.program("orders").kill().await;
    let told = "SELECT count(*) FROM outbox_event WHERE type LIKE '%PaymentCaptured%'";
    eventually("the capture is told", async || (stack.count("payments", told).await == 1).then_some(()))
        .await;
    let due = "SELECT count(*) FROM orders WHERE expires_at < clock_timestamp()";
    eventually("the order is due", async || (stack.count("orders", due).await == 1).then_some(())).await;
    stack.launch_ready("orders", &[]).await;
    stack.at_rest().await;
    let (confirmed, books) =
        (customer.order(&order).await["status"] == "confirmed", stack.taken_and_returned().await);
    assert_eq!(books, if confirmed { (COST, 0) } else { (COST, COST) });
}

#[tokio::test(flavor = "multi_thread")]
async fn events_before_the_answer_doubled_and_out_of_order_change_nothing() {
    let (stack, customer) = stack(60).await;
    stack
        .faults(json!([
            {"kinds": ["drop_reply"], "route": CHARGE, "times": 1},
            {"kinds": ["duplicate_webhook"], "event": "payment_intent.succeeded"},
            {"kinds": ["disordered_webhooks"], "delay_ms": 800},
        ]))
        .await;
    let order = customer.places(2, "pm_card_visa").await;
    customer.sees(&order, "confirmed").await;
    stack.at_rest().await;
    assert!(stack.bites("duplicate_webhook").await > 0 && stack.bites("drop_reply").await == 1);
    assert_eq!(stack.taken_and_returned().await, (COST, 0));
    let captures = "SELECT count(*) FROM ledger_transaction WHERE kind = 'capture'";
    assert_eq!(stack.count("payments", captures).await, 1);
    let (heard, made) = (
        stack.count("payments", "SELECT count(*) FROM webhook_event").await,
        stack.count("provider", "SELECT count(*) FROM event").await,
    );
    assert_eq!(heard, made, "each event once");
}
