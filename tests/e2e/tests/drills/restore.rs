//! A dump of the databases is restored into a fresh cluster, whose transaction numbers are smaller.

use e2e::{Customer, Load, Options, Part, Stack};
use testkit::Postgres;

use crate::{NEXT_TRANSACTION, accepted};

/// Uses up one transaction number.
const TRANSACTION: &str = "SELECT pg_current_xact_id()::text::bigint AS count";

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restore_into_a_fresh_cluster_every_order_ends() {
    let (old, fresh) = tokio::join!(Postgres::start(), Postgres::start());
    let options = Options { postgres: Some(old.url()), lease_seconds: Some(2), ..Options::default() };
    let mut stack = Stack::with(Options { separate_relays: true, ..options }).await;
    let customer = Customer::stocked(&stack, 1_000_000).await;
    let load = Load::start(&customer, &stack.endpoints(&["orders"]), 4);
    accepted(&stack, 60).await;
    for service in Part::SERVICES {
        stack.stop(&service.relay(1).to_string()).await;
    }
    accepted(&stack, 20).await;
    let responses = load.stop().await;
    let unpublished = stack.books().backlog(Part::ORDERS, responses.tenant()).await.unwrap().waiting;
    assert!(unpublished >= 20, "{unpublished} messages are unpublished");
    for service in Part::SERVICES {
        stack.stop(service.name()).await;
    }

    // A restore uses numbers too: some for each table. A server that has lived for long is ahead of that.
    for _ in 0..500 {
        stack.count(Part::ORDERS, TRANSACTION).await;
    }
    let before = stack.count(Part::ORDERS, NEXT_TRANSACTION).await;
    for service in Part::SERVICES {
        let dump = stack.dump(service).await;
        stack.restore(service, &dump, &fresh.url()).await;
    }
    assert!(stack.count(Part::ORDERS, NEXT_TRANSACTION).await < before, "the numbers did not go back");
    stack.launch_services().await;
    for service in Part::SERVICES {
        let refused = stack.operate(service, &["relay", "step-down", "--by", "dana", "--reason", "x"]).await;
        assert!(refused.text().contains("the database is a copy"), "{refused:?}");
    }
    stack.adopt_all().await;
    for service in Part::SERVICES {
        stack.launch_ready(&service.relay(1).to_string(), &[]).await;
    }
    stack.audited(&responses).await;
    for service in Part::SERVICES {
        let log = stack.program(&service.relay(1).to_string()).log();
        assert!(log.contains("OutboxStartedOver"), "the relay of {} took no notice", service.name());
    }
}
