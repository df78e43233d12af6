//! payments in the pages of `explain` and in the audit of the whole installation.

use e2e::payments::SECRET_KEY;
use e2e::{Customer, Part, Stack};
use serde_json::Value;
use testkit::http;
use uuid::Uuid;

use crate::{cures, explain, in_order, last_line, plant, run, says, sources, violations};

#[tokio::test(flavor = "multi_thread")]
async fn cancelled_orders_say_why_and_what_became_of_stock_and_money() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    let declined = customer.places_with(1, "pm_card_visa_chargeDeclined").await;
    let too_many = customer.places(100).await;
    let late = customer.places_with(2, "pm_card_idem_slow").await;
    customer.sees(late, "awaiting_payment").await;
    stack.counts(Part::PAYMENTS, "SELECT count(*) FROM payment WHERE state = 'capturing'", 1).await;
    assert_eq!(customer.api.cancel(late).await.unwrap().status, 200);
    stack.captures_and_refunds(900, 900).await;
    customer.sees(declined, "cancelled/declined").await;
    customer.sees(too_many, "cancelled/rejected").await;
    stack.at_rest().await;
    for (order, expected) in [
        (declined, "cancelled (declined), card declined, nothing charged, stock released"),
        (too_many, "cancelled (rejected), nothing charged, no stock reserved"),
        (late, "cancelled (customer), 9.00 EUR captured, 9.00 EUR refunded, stock released"),
    ] {
        let output = explain(&stack, order).await;
        assert_eq!(last_line(&output), format!("status: {expected}"), "{}", output.stdout);
        assert!(output.is_success());
    }
    let output = run(&sources(&stack), &["explain", &late.to_string(), "--json"]).await;
    let page: Value = serde_json::from_str(&output.stdout).unwrap();
    let texts: Vec<&str> =
        page["lines"].as_array().unwrap().iter().map(|it| it["text"].as_str().unwrap()).collect();
    for (start, end) in [
        ("refund ", "9.00 EUR pending, cause order_cancelled"),
        ("refund re_", "of 9.00 EUR is succeeded"),
        ("transaction ", "refund: clearing 9.00 EUR, receivable -9.00 EUR"),
    ] {
        let is_there = texts.iter().any(|text| text.starts_with(start) && text.ends_with(end));
        assert!(is_there, "{start}… {end} is not in\n{texts:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_whose_processor_is_away_says_how_often_it_was_asked() {
    let mut stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    customer.buys(1).await;
    stack.at_rest().await;
    stack.kill("provider").await;
    let order = customer.places(1).await;
    let line = says(&stack, order, "; the processor has not settled the charge: ").await;
    assert!(line.contains("open: waits for payments, expires at "), "{line}");
    stack.launch_ready("provider", &[]).await;
    customer.sees(order, "confirmed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paid_order_is_explained_and_its_open_review_is_named_with_the_command_that_shows_it() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    let order = customer.buys(1).await;
    stack.at_rest().await;
    let payment = order.payment_id.unwrap();
    let review = format!(
        "INSERT INTO review (id, tenant_id, subject, subject_id, payment_id, reason)
         VALUES (gen_random_uuid(), '{}', 'payment', '{payment}', '{payment}', 'contradicted')",
        customer.tenant()
    );
    plant(&stack, Part::PAYMENTS, &review).await;
    let line = says(&stack, order.id, "a review of the payment is open: contradicted").await;
    assert!(line.contains("confirmed, 4.50 EUR captured, stock shipped; "), "{line}");
    let output = explain(&stack, order.id).await;
    in_order(
        &output,
        &[
            "PaymentRequested: the order is awaiting_payment",
            "orders.PaymentRequested.v1, sequence 2",
            "PaymentRequested of orders entered, sequence 2",
            ": 4.50 EUR requested",
            "charge: ",
            "capture: receivable 4.50 EUR, clearing -4.50 EUR",
            "payments.PaymentCaptured.v1, sequence 1",
            "OrderConfirmed: the order is confirmed; by a message of payments",
            "orders.OrderConfirmed.v1, sequence 3",
        ],
    );
    in_order(&output, &["charge: ", "4.50 EUR captured, 0.00 EUR refunded", "capture: receivable"]);
    let shown = cures(&stack, order.id, Part::PAYMENTS).await;
    assert!(shown.contains(&payment.to_string()), "{shown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn money_that_the_processor_books_otherwise_is_a_violation() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    let order = customer.buys(2).await.id;
    stack.at_rest().await;
    // The provider's own books stay consistent: charge, PaymentIntent and balance lose one cent together.
    let provider = "UPDATE charge SET amount = amount - 1, amount_captured = amount_captured - 1;
                    UPDATE payment_intent SET amount_received = amount_received - 1;
                    UPDATE balance_transaction SET amount = amount - 1, net = net - 1;";
    plant(&stack, Part::PROVIDER, provider).await;
    let found = violations(&stack, "orders and money agree").await;
    assert!(found.len() == 1 && found[0].contains(&order.to_string()), "{found:?}");
    assert_eq!(violations(&stack, "our ledger and the processor's balance agree").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_charge_of_another_program_is_no_difference_and_one_of_this_deployment_is() {
    let stack = Stack::start().await;
    Customer::stocked(&stack, 10).await.buys(1).await;
    stack.at_rest().await;
    take_there(&stack, "").await;
    let output = run(&sources(&stack), &["audit"]).await;
    assert!(output.is_success(), "{output:?}");

    let (reference, kafka) = (Uuid::now_v7().to_string(), stack.kafka());
    let ours = kafka.topics.deployment();
    take_there(&stack, &format!("&metadata[reference]={reference}&metadata[deployment]={ours}")).await;
    let output = run(&sources(&stack), &["audit"]).await;
    assert_eq!(output.code, Some(1), "{output:?}");
    let named = format!("payment {reference}: our ledger says 0 EUR receivable");
    assert!(output.stdout.contains(&named), "{output:?}");
}

/// Charges a card at the processor without our services.
async fn take_there(stack: &Stack, metadata: &str) {
    let form = format!(
        "amount=500&currency=eur&payment_method=pm_card_visa&payment_method_types[]=card&confirm=true{metadata}"
    );
    let post = http::client().post(format!("http://{}/v1/payment_intents", stack.address("provider")));
    let post = post.header("Content-Type", "application/x-www-form-urlencoded").body(form);
    let post = post.bearer_auth(SECRET_KEY).header("Idempotency-Key", Uuid::new_v4().to_string());
    let intent: Value = post.send().await.unwrap().json().await.unwrap();
    assert_eq!(intent["status"], "succeeded", "{intent}");
}
