//! The ends of an order and of its money: confirmed, rejected, declined, expired, and cancelled while the charge is in flight.

use contracts::{Currency, Money};
use e2e::{Customer, Options, Part, Stack};
use harness::payments::refund;
use serde_json::json;
use testkit::eventually;

use crate::metrics::metrics;

async fn stock(customer: &Customer) -> (i64, i64) {
    let stock = customer.stock().await;
    (stock.on_hand, stock.reserved)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_order_comes_to_its_end() {
    let mut stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;

    let paid = customer.places(2).await;
    let too_many = customer.places(100).await;
    let declined = customer.places_with(3, "pm_card_visa_chargeDeclined").await;
    let confirmed = customer.sees(paid, "confirmed").await;
    customer.sees(too_many, "cancelled/rejected").await;
    customer.sees(declined, "cancelled/declined").await;

    stack.settled().await;
    assert_eq!(stock(&customer).await, (8, 0), "two shipped, the rest released");
    assert_eq!(stack.captured_and_refunded().await, (900, 0), "one capture of 2 × 450");
    assert_eq!(customer.payment(confirmed.payment_id.unwrap()).await.status, "captured");
    // The response to this charge is lost: the retry under the same key finds the charge.
    let unanswered = customer.places_with(1, "pm_card_idem_charged_no_reply").await;
    customer.sees(unanswered, "confirmed").await;
    stack.settled().await;
    assert_eq!(stack.captured_and_refunded().await, (1350, 0), "charged once, though the response was lost");
    // A count follows its COMMIT.
    eventually("two captures are counted", async || {
        let payments = metrics(&mut stack, Part::PAYMENTS).await;
        (payments.count("payments_reached_total{state=\"captured\"}") == 2).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_refunds_the_payment_of_a_confirmed_order_and_the_books_agree() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    let payments = [customer.buys(1).await, customer.buys(1).await].map(|order| order.payment_id.unwrap());
    // Payments refuses a refund until it knows that the order is confirmed.
    stack.settled().await;
    for (payment, amount) in payments.into_iter().zip([100, 450]) {
        let response = customer.send(&refund(payment, Money::new(amount, Currency::Eur))).await;
        assert_eq!(response.status, 201, "{}", response.json());
    }
    stack.at_rest().await;
    assert_eq!(stack.captured_and_refunded().await, (900, 550));
    for asked in stack.books().audit().await {
        assert_eq!(asked.found().unwrap(), [""; 0], "{asked:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_cancelled_while_its_charge_is_in_flight_is_refunded_in_full() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    let order = customer.places_with(2, "pm_card_idem_slow").await;
    customer.sees(order, "awaiting_payment").await;
    stack.counts(Part::PAYMENTS, "SELECT count(*) FROM payment WHERE state = 'capturing'", 1).await;
    assert_eq!(customer.api.cancel(order).await.unwrap().status, 200);
    stack.captures_and_refunds(900, 900).await;
    stack.settled().await;
    assert_eq!(customer.order(order).await.status, "cancelled");
    assert_eq!(stock(&customer).await, (10, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_that_our_balance_does_not_cover_is_made_again_and_refunds_once() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    stack
        .faults(json!([{ "kinds": ["balance_insufficient"], "route": "POST /v1/refunds", "times": 2 }]))
        .await;
    let order = customer.places_with(2, "pm_card_idem_slow").await;
    customer.sees(order, "awaiting_payment").await;
    stack.counts(Part::PAYMENTS, "SELECT count(*) FROM payment WHERE state = 'capturing'", 1).await;
    assert_eq!(customer.api.cancel(order).await.unwrap().status, 200);
    stack.captures_and_refunds(900, 900).await;
    stack.settled().await;
    let refused = "SELECT count(*) FROM refund WHERE failure_code = 'balance_insufficient'";
    assert_eq!(stack.count(Part::PAYMENTS, refused).await, 2);
    let shown = "SELECT count(*) FROM order_timeline WHERE what LIKE 'PaymentRefund%'";
    assert_eq!(stack.count(Part::ORDERS, shown).await, 1, "the order shows the refund, not the refusals");
    assert_eq!(stack.captured_and_refunded().await, (900, 900));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unpaid_order_expires_and_its_stock_is_released() {
    let mut stack = Stack::with(Options { expiry_seconds: Some(2), ..Options::default() }).await;
    let customer = Customer::stocked(&stack, 10).await;
    stack.kill("payments").await;
    let order = customer.places(2).await;
    customer.sees(order, "cancelled/expired").await;
    stack.launch_ready("payments", &[]).await;
    stack.settled().await;
    assert_eq!(stock(&customer).await, (10, 0));
    assert_eq!(stack.captured_and_refunded().await, (0, 0), "no first attempt starts after the order's time");
    let facts = "SELECT count(*) FROM audit_fact WHERE action = 'order.expire'";
    assert_eq!(stack.count(Part::ORDERS, facts).await, 1);
}
