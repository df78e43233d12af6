//! The primary of the services' databases is killed under load, and its standby is promoted.

use e2e::{Customer, Load, Options, Part, Request, Stack};
use testkit::{Postgres, Replication, eventually};

use crate::accepted;

#[tokio::test(flavor = "multi_thread")]
async fn with_synchronous_replication_a_failover_loses_no_accepted_order() {
    let (mut primary, standby) = Postgres::with_standby(Replication::Synchronous).await;
    let postgres = Some(primary.url_with(&standby));
    let mut stack = Stack::with(Options { postgres, lease_seconds: Some(2), ..Options::default() }).await;
    let customer = Customer::stocked(&stack, 1_000_000).await;
    let load = Load::start(&customer, &stack.endpoints(&["orders"]), 4);
    accepted(&stack, 30).await;
    primary.kill().await;
    let list = Request::get(Part::ORDERS, "/v1/orders");
    eventually("without a primary, requests are refused", async || {
        (customer.send(&list).await.status == 503).then_some(())
    })
    .await;
    standby.promote().await;
    accepted(&stack, 30).await;
    let responses = load.stop().await;
    stack.audited(&responses).await; // until then, a relay may still wait for the lease of its last term
    for service in Part::SERVICES {
        let log = stack.program(service.name()).log();
        assert!(log.contains("OutboxStartedOver"), "the relay of {} took no notice", service.name());
    }
}
