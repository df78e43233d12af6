//! Confirmed, rejected, declined, expired, cancelled by the customer at every open state.

use e2e::{Customer, Options, Stack, TEA};
use testkit::eventually;

/// Captured and refunded minor units, in the provider's own books.
async fn books(stack: &Stack) -> (i64, i64) {
    let captured = "SELECT coalesce(sum(amount), 0)::bigint AS count FROM charge WHERE status = 'succeeded'";
    let refunded = "SELECT coalesce(sum(amount), 0)::bigint AS count FROM refund WHERE status = 'succeeded'";
    (stack.count("provider", captured).await, stack.count("provider", refunded).await)
}

async fn stock(customer: &Customer) -> (i64, i64) {
    let item = customer.item(TEA).await;
    (item["on_hand"].as_i64().unwrap(), item["reserved"].as_i64().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_order_comes_to_its_end() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;

    let paid = customer.places(2, "pm_card_visa").await;
    let too_many = customer.places(100, "pm_card_visa").await;
    let declined = customer.places(3, "pm_card_visa_chargeDeclined").await;
    let confirmed = customer.sees(&paid, "confirmed").await;
    assert_eq!(customer.sees(&too_many, "cancelled").await["cancellation"]["reason"], "rejected");
    assert_eq!(customer.sees(&declined, "cancelled").await["cancellation"]["reason"], "declined");

    stack.settled().await;
    assert_eq!(stock(&customer).await, (8, 0), "two shipped, the rest released");
    assert_eq!(books(&stack).await, (900, 0), "one capture of 2 × 450");
    let payment = customer.payment(confirmed["payment_id"].as_str().unwrap()).await;
    assert_eq!(payment["status"], "captured");
    // A reply that is lost after the charge: the retry under the same key finds it.
    let unheard = customer.places(1, "pm_card_idem_charged_no_reply").await;
    customer.sees(&unheard, "confirmed").await;
    stack.settled().await;
    assert_eq!(books(&stack).await, (1350, 0), "charged once, though the first reply was lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_cancelled_while_its_charge_is_in_flight_is_refunded_in_full() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    let order = customer.places(2, "pm_card_idem_slow").await;
    customer.sees(&order, "awaiting_payment").await;
    eventually("the charge is in flight", async || {
        let capturing = "SELECT count(*) FROM payment WHERE state = 'capturing'";
        (stack.count("payments", capturing).await == 1).then_some(())
    })
    .await;
    let answer = customer.cancels(&order, "changed my mind").await;
    assert_eq!(answer.status(), 200);
    eventually("the late capture is refunded", async || (books(&stack).await == (900, 900)).then_some(()))
        .await;
    stack.settled().await;
    assert_eq!(customer.order(&order).await["status"], "cancelled");
    assert_eq!(stock(&customer).await, (10, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_is_cancelled_before_anything_happened_costs_nothing() {
    let mut stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    // A first order, so that the catalogue is known to know TEA.
    customer.sees(&customer.places(1, "pm_card_visa").await, "confirmed").await;
    // Nobody reserves while inventory is away: the order is still pending when it is cancelled.
    stack.program("inventory").kill().await;
    let order = customer.places(2, "pm_card_visa").await;
    assert_eq!(customer.order(&order).await["status"], "pending");
    assert_eq!(customer.cancels(&order, "changed my mind").await.status(), 200);
    stack.launch_ready("inventory", &[]).await;
    stack.settled().await;
    assert_eq!(stock(&customer).await, (9, 0));
    assert_eq!(books(&stack).await, (450, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_nobody_pays_expires_and_its_stock_is_released() {
    let mut stack = Stack::with(Options { expiry_seconds: Some(2), ..Options::default() }).await;
    let customer = Customer::stocked(&stack, 10).await;
    stack.program("payments").kill().await;
    let order = customer.places(2, "pm_card_visa").await;
    assert_eq!(customer.sees(&order, "cancelled").await["cancellation"]["reason"], "expired");
    stack.launch_ready("payments", &[]).await;
    stack.settled().await;
    assert_eq!(stock(&customer).await, (10, 0));
    assert_eq!(books(&stack).await, (0, 0), "no first attempt starts after the order's time");
    let facts = "SELECT count(*) FROM audit_fact WHERE action = 'order.expire'";
    assert_eq!(stack.count("orders", facts).await, 1);
}
