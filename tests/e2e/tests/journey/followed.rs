//! A reader follows a list by the rule of docs/clients.md, while two instances with different clocks add to it.

use std::collections::BTreeSet;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use e2e::{Customer, Options, Stack};
use futures_util::future::join;
use harness::{Endpoint, Part, Request};
use serde_json::Value;
use tokio::time::{interval, timeout};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Two seconds between the clocks, and two for a command.
const OVERLAP: TimeDelta = TimeDelta::seconds(4);

/// A reader, who reads the newest pages again and again.
#[derive(Default)]
struct Reader {
    known: BTreeSet<Uuid>,
    newest: DateTime<Utc>,
}

impl Reader {
    /// Reads until the first order that `is_enough`, of the orders' ids and times.
    async fn read(&mut self, customer: &Customer, is_enough: impl Fn(&Self, Uuid, DateTime<Utc>) -> bool) {
        let (mut found, mut newest, mut path) =
            (BTreeSet::new(), self.newest, "/v1/orders?limit=100".to_owned());
        'pages: loop {
            let page: Value = customer.send(&Request::get(Part::ORDERS, &path)).await.read(200).unwrap();
            for order in page["data"].as_array().unwrap() {
                let id = order["id"].as_str().unwrap().parse().unwrap();
                let placed_at = order["placed_at"].as_str().unwrap().parse().unwrap();
                if is_enough(self, id, placed_at) {
                    break 'pages;
                }
                found.insert(id);
                newest = newest.max(placed_at);
            }
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            path = format!("/v1/orders?limit=100&cursor={cursor}");
        }
        self.known.extend(found);
        self.newest = newest;
    }
}

/// Places so many orders at one instance, twenty a second.
async fn place(customer: &Customer, at: &Endpoint, orders: usize) -> BTreeSet<Uuid> {
    let (mut placed, mut pace) = (BTreeSet::new(), interval(Duration::from_millis(50)));
    while placed.len() < orders {
        pace.tick().await;
        // Not yet, while the instance starts.
        if let Ok(response) = customer.api.client().send(at, &customer.tea(1)).await
            && response.status == 201
        {
            placed.insert(response.json()["id"].as_str().unwrap().parse().unwrap());
        }
    }
    placed
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_with_an_overlap_misses_no_order_of_two_instances_with_different_clocks() {
    let Some(clock) = testkit::behind(2) else { return };
    let mut stack = Stack::with(Options { two_of_each: true, ..Options::default() }).await;
    let customer = Customer::stocked(&stack, 1_000).await;
    let first = customer.places(1).await;
    stack.stop("orders-2").await;
    // Without brokers, because the Kafka client's threads stall under this clock.
    let [library, time, monotonic] = clock.each_ref().map(|(name, value)| (*name, value.as_str()));
    stack.launch("orders-2", &[library, time, monotonic, ("IDEM_KAFKA__BROKERS", "127.0.0.1:1")]);
    let endpoints = stack.endpoints(&["orders", "orders-2"]);
    let has_placed = CancellationToken::new();
    let placing = async {
        let _placed = has_placed.clone().drop_guard();
        join(place(&customer, &endpoints[0], 100), place(&customer, &endpoints[1], 100)).await
    };
    let reading = async {
        let (mut by_overlap, mut by_known) = (Reader::default(), Reader::default());
        loop {
            let is_last = has_placed.is_cancelled();
            by_overlap.read(&customer, |reader, _, placed_at| placed_at < reader.newest - OVERLAP).await;
            by_known.read(&customer, |reader, id, _| reader.known.contains(&id)).await;
            if is_last {
                return (by_overlap, by_known);
            }
            let _ = timeout(Duration::from_millis(250), has_placed.cancelled()).await;
        }
    };
    let ((one, other), (by_overlap, by_known)) = join(placing, reading).await;
    stack.stop("orders-2").await; // a killed one would leave the shared memory of libfaketime
    let all: BTreeSet<Uuid> = one.into_iter().chain(other).chain([first]).collect();
    assert_eq!(by_overlap.known, all);
    assert!(by_known.known.len() < all.len(), "a reader that stops at the first known order misses some");
}
