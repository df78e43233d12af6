//! A service kills itself at a crash point, the worst moment: after its commit, or after a charge.

use std::error::Error;

use harness::api::{Order, place_order};
use harness::{Part, Result};

use crate::demo::{Demo, TEA, VISA};
use crate::report::Step;

/// orders dies between its commit and its response: the retry gets the response of the committed order.
pub(crate) async fn orders(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    const REFERENCE: &str = "orders-killed";
    step.progress("restarting orders with a crash point");
    let victim = Part::ORDERS.instance(1);
    // After COMMIT, before the first byte of the response.
    demo.stack.arm(victim, "execute.after_commit:1").await?;
    let request = place_order(&[(TEA, 1)], VISA, REFERENCE);

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

/// payments dies after it has read the processor's response and before it stores it: the card is charged once all the same.
pub(crate) async fn payments(demo: &Demo<'_>, step: &mut Step<'_>) -> Result<()> {
    step.progress("waiting until no call to the processor is open");
    // Otherwise an earlier one, such as the lookup of a fee, would meet the crash point.
    demo.settled().await?;
    step.progress("restarting payments with a crash point");
    // Otherwise another instance could take the charge.
    demo.stack.down(&[Part::PAYMENTS]).await?;
    let victim = Part::PAYMENTS.instance(1);
    demo.stack.arm(victim, "charge.response_read:1").await?;
    let placed = demo.order_tea(VISA, "payments-killed").await?;
    step.progress("waiting until payments is dead");
    let died = demo.stack.dead(victim).await;
    if died.is_err() {
        // The crash point is still active: the next charge would kill the process.
        demo.stack.stop(&[victim]).await?;
    }
    died?;

    let order = demo.api.order(placed.id).await?;
    let before = demo.charged_for(&order).await?;
    step.equal("the order meanwhile", "awaiting_payment", order.outcome(), "./dev psql orders");
    step.equal("charges in the processor's books by then", 1, before.charges, "./dev psql provider");

    step.progress("starting payments again");
    demo.stack.up(&[Part::PAYMENTS]).await?;
    step.progress("waiting until the order is confirmed");
    let ended = demo.ends(placed.id).await?;
    let (after, attempts) = (demo.charged_for(&ended).await?, demo.charge_call_of(&ended).await?.attempts);
    step.equal("the final status", "confirmed", ended.outcome(), "./dev logs payments");
    step.equal("charges in the processor's books", before, after, "./dev psql provider");
    step.check("requests to the processor", "at least 2", attempts, attempts >= 2, "./dev psql payments");
    step.figure(format!("{} charge in the processor's books when payments died", before.charges));
    step.figure(format!("{} after {attempts} requests to the processor", after.charges));
    step.figure(ended.outcome());
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
