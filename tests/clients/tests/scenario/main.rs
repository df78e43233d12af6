#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! Each client drives one scenario on services of its own. `./dev clients` generates and compiles the clients, and sets
//! the variable that names their folder.

mod lossy;

use std::path::Path;

use e2e::{Customer, Part, Stack};
use testkit::{given, identity};
use tokio::process::Command;

use lossy::{FAULTS, LossyProxy};

/// What each client shows, in this order.
const CHECKS: [&str; 9] = [
    "item",
    "lost response",
    "confirmed",
    "pages",
    "problems",
    "cancelled",
    "charged",
    "followed",
    "refunded",
];

const PLACED: &str =
    "SELECT count(*) FROM idempotency_record WHERE route = '/v1/orders' AND state = 'completed'";

/// Runs the client of this language. Fails unless every check was made, and the databases agree.
async fn drives(language: &str) {
    let program = Path::new(&given("IDEM_CLIENTS")).join(language).join("run");
    let stack = Stack::start().await;
    let customer = Customer::of(&stack);
    let lossy = LossyProxy::to(stack.address("orders")).await;
    let reader = identity::token(customer.tenant(), "e2e", "orders:read");
    let url = |address: String| format!("http://{address}");
    let output = Command::new(program)
        .env("IDEM_ORDERS", url(stack.address("orders")))
        .env("IDEM_ORDERS_LOSSY", url(lossy.address().to_string()))
        .env("IDEM_PAYMENTS", url(stack.address("payments")))
        .env("IDEM_INVENTORY", url(stack.address("inventory")))
        .env("IDEM_TOKEN", customer.token())
        .env("IDEM_READER_TOKEN", reader)
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{stdout}");
    assert!(output.status.success(), "{stdout}{stderr}");
    let held: Vec<&str> = stdout.lines().filter_map(|line| line.strip_prefix("holds: ")).collect();
    assert_eq!(held, CHECKS);
    assert_eq!(lossy.connections(), FAULTS + 1, "connections of one request");
    stack.at_rest().await;
    // Two orders for the pages, one under the key that is reused, and one that is cancelled; and the refusal of another total.
    stack.counts(Part::ORDERS, PLACED, 5).await;
    stack.counts(Part::ORDERS, "SELECT count(*) FROM orders", 4).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the client: ./dev clients python makes it"]
async fn the_python_client_drives_the_services() {
    drives("python").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the client: ./dev clients typescript makes it"]
async fn the_typescript_client_drives_the_services() {
    drives("typescript").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the client: ./dev clients go makes it"]
async fn the_go_client_drives_the_services() {
    drives("go").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the client: ./dev clients java makes it"]
async fn the_java_client_drives_the_services() {
    drives("java").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the client: ./dev clients rust makes it"]
async fn the_rust_client_drives_the_services() {
    drives("rust").await;
}
