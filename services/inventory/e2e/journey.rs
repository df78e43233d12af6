//! The ends of an order and of its stock: shipped, rejected, and cancelled before anything happened.

use e2e::{Customer, Stack};

async fn stock(customer: &Customer) -> (i64, i64) {
    let stock = customer.stock().await;
    (stock.on_hand, stock.reserved)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_confirmed_and_shipped_or_rejected_for_want_of_stock() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    let enough = customer.places(2).await;
    let too_many = customer.places(100).await;
    customer.sees(enough, "confirmed").await;
    customer.sees(too_many, "cancelled/rejected").await;
    stack.settled().await;
    assert_eq!(stock(&customer).await, (8, 0), "two shipped, none held");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_is_cancelled_before_anything_happened_costs_nothing() {
    let mut stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    // The first order shows that the catalogue of orders knows TEA.
    customer.buys(1).await;
    // Without inventory, nothing is reserved: the order is still pending when it is cancelled.
    stack.kill("inventory").await;
    let order = customer.places(2).await;
    assert_eq!(customer.order(order).await.status, "pending");
    assert_eq!(customer.api.cancel(order).await.unwrap().status, 200);
    stack.launch_ready("inventory", &[]).await;
    stack.settled().await;
    assert_eq!(stock(&customer).await, (9, 0));
    stack.at_rest().await;
    for asked in stack.books().audit().await {
        assert_eq!(asked.found().unwrap(), [""; 0], "{asked:?}");
    }
}
