//! orders kills itself at a crash point, the worst moment: after its commit.

use std::error::Error;

use harness::orders::{Order, place_order};
use harness::{Part, Result};

use crate::demo::{Demo, TEA};
use crate::report::Step;

/// orders dies between its commit and its response: the retry gets the response of the committed order.
pub(crate) async fn orders(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    const REFERENCE: &str = "orders-killed";
    step.progress("restarting orders with a crash point");
    let victim = Part::ORDERS.instance(1);
    // After COMMIT, before the first byte of the response.
    demo.stack.arm(victim, "execute.after_commit:1").await?;
    let request = place_order(&[(TEA, 1)], REFERENCE);

    let first = demo.api.try_send_at(victim, &request).await;
    let lost = first.as_ref().is_err_and(|error| !error.is_connect() && !error.is_timeout());
    let seen = first.map_or_else(|error| innermost(&error), |response| format!("status {}", response.status));
    let expected = "a connection that breaks without a response";
    step.check("the first request", expected, &seen, lost, "./dev logs orders");
    if !lost {
        // The crash point is still active: the next request would kill the process.
        demo.stack.stop(&[victim]).await?;
    }
    demo.stack.dead(victim).await?;
    let committed = demo.orders_with_reference(REFERENCE).await?;
    step.equal("orders committed by then", 1, committed.len(), "./dev psql orders");

    // With two instances, the other one answers the retry before the victim is back.
    let other = demo.stack.instances(Part::ORDERS).into_iter().find(|instance| *instance != victim);
    let early = match other {
        Some(other) => Some(demo.api.send_at(other, &request).await?),
        None => None,
    };
    step.progress("starting orders again");
    demo.stack.start(&[victim]).await?;
    let late = demo.api.send_at(victim, &request).await?;
    let (second, third) = match early {
        Some(early) => (early, late),
        None => (late, demo.api.send_at(victim, &request).await?),
    };
    let order: Order = second.read(201)?;
    let same = third.stored_part() == second.stored_part();
    step.equal("the retry is a replay", true, second.is_replay(), "./dev logs orders");
    step.equal("the order in the response", committed, [order.id], "./dev psql orders");
    step.check("the response to the next retry", "the same bytes", third.status, same, "./dev logs orders");

    step.progress("waiting until the order is confirmed");
    let ended = demo.ends(order.id).await?;
    let orders = demo.orders_with_reference(REFERENCE).await?.len();
    step.equal("the final status", "confirmed", ended.outcome(), "./dev logs");
    step.equal("orders in the database", 1, orders, "./dev psql orders");
    let status = second.header("idempotency-status").unwrap_or("not marked");
    step.figure(format!("the client saw \"{seen}\""));
    let (got, by) = (format!("{}, {status}", second.status), second.instance);
    step.figure(match other {
        Some(_) => format!("its retry got {got}, at once, from {by}"),
        None => format!("after the restart its retry got {got}"),
    });
    step.figure(format!("{orders} order, {}", ended.outcome()));
    Ok(())
}

/// The cause that the lowest layer reports.
fn innermost(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
