//! orders is killed between its commit and its answer: the client knows nothing, and asks again.

use std::error::Error;

use uuid::Uuid;

use crate::api::{CommandRequest, Order};
use crate::part::Part;
use crate::report::Step;
use crate::trouble::Trouble;
use crate::world::{TEA, VISA, World};

/// After COMMIT, before the first byte of the answer.
const POINT: &str = "execute.after_commit:1";
const REFERENCE: &str = "orders-killed";

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    step.doing("starting orders so that it will kill itself");
    let victim = Part::Orders.instance(1);
    world.stack.arm(victim, POINT).await?;
    let wish = CommandRequest { lines: &[(TEA, 1)], card: VISA, reference: REFERENCE };
    let (key, body) = (Uuid::new_v4(), wish.body());

    let first = world.api.try_place_at(victim, key, &body).await;
    let lost = first.as_ref().is_err_and(|error| !error.is_connect() && !error.is_timeout());
    let seen = first.map_or_else(|error| innermost(&error), |answer| format!("status {}", answer.status));
    step.holds(
        "the first request",
        "a connection that breaks without an answer",
        &seen,
        lost,
        "./dev logs orders",
    );
    if !lost {
        // It is still armed: the next request of anybody would kill it.
        world.stack.stop(&[victim]).await?;
    }
    world.stack.dead(victim).await?;
    let committed = world.books.orders_called(&world.tenant, REFERENCE).await?;
    step.equal("orders committed by then", 1, committed.len(), "./dev psql orders");

    // Whoever else serves answers the retry, before the one that was killed is back.
    let other = world.stack.instances(Part::Orders).into_iter().find(|instance| *instance != victim);
    let early = match other {
        Some(other) => Some(world.api.place_at(other, key, &body).await?),
        None => None,
    };
    step.doing("starting orders again");
    world.stack.start(&[victim]).await?;
    let late = world.api.place_at(victim, key, &body).await?;
    let (second, third) = match early {
        Some(early) => (early, late),
        None => (late, world.api.place_at(victim, key, &body).await?),
    };
    let order: Order = second.read(201)?;
    step.equal("the retry is a replay", true, second.is_replay(), "./dev logs orders");
    step.equal("the order that it names", committed, [order.id], "./dev psql orders");
    step.holds(
        "the next retry",
        "the same bytes",
        third.status,
        third.receipt() == second.receipt(),
        "./dev logs orders",
    );

    step.doing("waiting until the order is confirmed");
    let ended = world.ends(order.id).await?;
    let orders = world.books.orders_called(&world.tenant, REFERENCE).await?.len();
    step.equal("how it ended", "confirmed", ended.end(), "./dev logs");
    step.equal("orders in the database", 1, orders, "./dev psql orders");
    let status = second.header("idempotency-status").unwrap_or("not marked");
    step.figure(format!("the client saw \"{seen}\""));
    let (got, by) = (format!("{}, {status}", second.status), second.instance);
    step.figure(match other {
        Some(_) => format!("its retry got {got}, at once, from {by}"),
        None => format!("after the restart its retry got {got}"),
    });
    step.figure(format!("{orders} order, {}", ended.end()));
    Ok(())
}

/// Why a request failed, in the words of whoever noticed it first.
fn innermost(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
