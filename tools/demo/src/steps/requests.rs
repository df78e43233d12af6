//! Idempotency keys: the same request many times, a key with another body, and no key.

use std::collections::BTreeMap;

use harness::orders::{Order, place_order};
use harness::{Instance, Part, Response, Result};

use super::of_services;
use crate::clients::concurrently;
use crate::demo::{Demo, TEA, first_execution};
use crate::report::{Step, span};

const TIMES: usize = 20;
const HINT: &str = "./dev logs orders";

/// The same request 20 times at once: one order, and equal responses.
pub(crate) async fn same_key(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    const REFERENCE: &str = "twenty-at-once";
    let request = place_order(&[(TEA, 1)], REFERENCE);
    let api = demo.with_connections(TIMES, Part::ORDERS, "/v1/orders?limit=1").await?;
    let received = concurrently(TIMES, async || api.send(&request).await).await?;

    let responses = || received.iter().map(|(response, _)| response);
    let is_executed = |response: &&Response| response.header("idempotency-status") == Some("executed");
    let replays: Vec<&Response> = responses().filter(|response| response.is_replay()).collect();
    let created = responses().filter(|response| response.status == 201).count();
    step.equal("responses with 201", TIMES, created, HINT);
    step.equal("executed responses", 1, responses().filter(is_executed).count(), HINT);
    step.equal("replayed responses", TIMES - 1, replays.len(), HINT);

    let first = first_execution(&received);
    let is_same =
        |replay: &&&Response| first.is_some_and(|first| replay.stored_part() == first.stored_part());
    let same = replays.iter().filter(is_same).count();
    step.equal("replays equal byte for byte", TIMES - 1, same, HINT);

    let orders = demo.orders_with_reference(REFERENCE).await?.len();
    step.equal("orders in the database", 1, orders, "./dev psql orders");
    step.figure(format!("{orders} order, {same} replays byte for byte"));

    let mut by_instance: BTreeMap<Instance, usize> = BTreeMap::new();
    for response in responses() {
        *by_instance.entry(response.instance).or_default() += 1;
    }
    let instances = demo.stack.instances(Part::ORDERS).len();
    step.equal("instances that answered", instances, by_instance.len(), HINT);
    if instances > 1 {
        let by: Vec<String> = by_instance.iter().map(|(by, times)| format!("{times} by {by}")).collect();
        step.figure(format!("answered {}", by.join(", ")));
    }

    let retries: usize = received.iter().map(|(_, retries)| retries).sum();
    let slowest = responses().map(|response| response.took).max().unwrap_or_default();
    step.figure(format!("retries after 409 idempotency-key-in-progress: {retries}"));
    step.figure(format!("slowest response {}", span(slowest)));
    if let Some(first) = first {
        let order: Order = first.read(201)?;
        let ended = demo.ships(order.id).await?;
        step.equal("the final status", "confirmed", ended.outcome(), HINT);
        of_services::confirmed(demo, step, &[ended.id]).await?;
    }
    Ok(())
}

/// A used key with another body is refused, and the first body still gets its response.
pub(crate) async fn reused_key(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    const REFERENCE: &str = "reused-key";
    let request = place_order(&[(TEA, 1)], REFERENCE);
    let first = demo.api.send(&request).await?;
    step.equal("the first response", 201, first.status, HINT);

    let mut other = place_order(&[(TEA, 2)], REFERENCE);
    other.key.clone_from(&request.key);
    let refused = demo.api.send(&other).await?;
    let expected = (409, "idempotency-key-reused".to_owned());
    step.equal("the response to the other body", expected, (refused.status, refused.code()), HINT);
    step.equal("its Retry-After", None, refused.retry_after(), HINT);

    let again = demo.api.send(&request).await?;
    step.equal("the first body again, replayed", true, again.is_replay(), HINT);
    let same = again.stored_part() == first.stored_part();
    step.check("its response", "the first one", again.status, same, HINT);

    let orders = demo.orders_with_reference(REFERENCE).await?.len();
    step.equal("orders in the database", 1, orders, "./dev psql orders");
    let order: Order = first.read(201)?;
    step.equal("the final status", "confirmed", demo.ships(order.id).await?.outcome(), "./dev logs");
    let retry_after = refused.retry_after().map_or("no".to_owned(), span);
    step.figure(format!("{} {}, {retry_after} Retry-After", refused.status, refused.code()));
    step.figure(format!(
        "the first body still gets {} ({}), {orders} order",
        again.status,
        again.header("idempotency-status").unwrap_or("not marked")
    ));
    Ok(())
}

/// A command without a key is refused.
pub(crate) async fn missing_key(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    const REFERENCE: &str = "no-key";
    let refused = demo.api.send(&place_order(&[(TEA, 1)], REFERENCE).without_key()).await?;
    let seen = (refused.status, refused.code(), refused.header("content-type").map(str::to_owned));
    let expected = (400, "idempotency-key-missing".to_owned(), Some("application/problem+json".to_owned()));
    step.equal("the response", expected, seen, HINT);
    let orders = demo.orders_with_reference(REFERENCE).await?.len();
    step.equal("orders in the database", 0, orders, "./dev psql orders");
    step.figure(format!("{} {}, {orders} orders", refused.status, refused.code()));
    Ok(())
}
