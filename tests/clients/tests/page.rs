#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! The page of the OpenAPI document, in a browser. `./dev clients page` sets the variables that name the program and Chromium.

use std::path::Path;

use e2e::{Customer, Part, Stack};
use testkit::given;
use tokio::process::Command;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a browser: ./dev clients page"]
async fn the_page_places_an_order_shows_its_replay_and_asks_no_other_host() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    let output = Command::new(Path::new(&given("IDEM_CLIENTS")).join("page/run"))
        .env("IDEM_ORDERS", format!("http://{}", stack.address("orders")))
        .env("IDEM_TOKEN", customer.token())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{stdout}");
    assert!(output.status.success(), "{stdout}{stderr}");
    let held: Vec<&str> = stdout.lines().filter_map(|line| line.strip_prefix("holds: ")).collect();
    assert_eq!(held, ["token", "order", "replay", "another order", "no other host"]);
    stack.at_rest().await;
    stack.counts(Part::ORDERS, "SELECT count(*) FROM orders", 2).await;
}
