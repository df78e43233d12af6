//! `/metrics` of the running services, after orders of every kind.

use std::collections::BTreeMap;

use e2e::{Customer, Part, Stack};
use testkit::{Metrics, eventually};

const PAGE: &str = include_str!("../../../../docs/metrics.md");

/// The metrics of a service.
pub(crate) async fn metrics(stack: &mut Stack, part: Part) -> Metrics {
    let listening = |line: &serde_json::Value| line["message"] == "listening";
    let lines = stack.program(part.name()).lines();
    let admin = lines.into_iter().find(listening).unwrap()["admin"].as_str().unwrap().to_owned();
    let response = testkit::http::client().get(format!("http://{admin}/metrics")).send().await.unwrap();
    Metrics::parse(&response.text().await.unwrap())
}

/// Name and type of each family in the tables of the page.
fn documented() -> BTreeMap<String, String> {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `"));
    let family = |row: &str| {
        let mut cells = row.split('|').map(str::trim);
        let (name, kind) = (cells.next()?.trim_end_matches('`'), cells.next()?);
        Some((name.to_owned(), kind.split(' ').next()?.to_owned()))
    };
    rows.filter_map(family).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_family_of_the_services_is_in_the_page_and_every_name_in_the_page_is_exported() {
    let mut stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    customer.buys(1).await;
    stack.settled().await;
    let mut exported = BTreeMap::new();
    for service in Part::SERVICES {
        exported.extend(metrics(&mut stack, service).await.families().clone());
    }
    assert_eq!(exported, documented());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_services_count_an_order_once_however_often_its_request_and_messages_come() {
    let mut stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    customer.buys(1).await;
    let request = customer.tea(1);
    for _ in 0..3 {
        assert_eq!(customer.send(&request).await.status, 201);
    }
    stack.settled().await;
    let orders = metrics(&mut stack, Part::ORDERS).await;
    assert_eq!(orders.count("idempotency_requests_total{outcome=\"replayed\"}"), 2);
    let placed = stack.count(Part::ORDERS, "SELECT count(*) FROM orders").await;
    let events = stack.events().await;
    // A count follows its COMMIT, and a gauge is some seconds old.
    eventually("metrics that agree with the rows", async || {
        let mut published = 0;
        for service in Part::SERVICES {
            // A message that Kafka delivers again is a duplicate, and entered once.
            let entered = stack.count(service, "SELECT count(*) FROM inbox_message").await;
            let seen = metrics(&mut stack, service).await;
            assert_eq!(seen.count("inbox_messages_total{outcome=\"parked\"}"), 0);
            if seen.count("inbox_messages_total{outcome=\"applied\"}") != entered {
                return None;
            }
            published += seen.count("outbox_published_events_total");
        }
        let orders = metrics(&mut stack, Part::ORDERS).await;
        let confirmed = orders.count("orders_reached_total{state=\"confirmed\"}");
        let is_empty =
            orders.count("outbox_unpublished_events") == 0 && orders.by_label("orders_open").is_empty();
        (published >= events && confirmed == placed && is_empty).then_some(())
    })
    .await;
}
