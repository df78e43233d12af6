//! orders is killed between its commit and its answer: the client knows nothing, and asks again.

use std::error::Error;

use uuid::Uuid;

use crate::api::{Order, Wish};
use crate::report::Step;
use crate::stack::Part;
use crate::trouble::Trouble;
use crate::world::{TEA, VISA, World};

/// After COMMIT, before the first byte of the answer.
const POINT: &str = "e4:1";
const REFERENCE: &str = "orders-killed";

pub(crate) async fn run(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    step.doing("starting orders so that it will kill itself");
    world.stack.arm(Part::Orders, POINT).await?;
    let wish = Wish { lines: &[(TEA, 1)], card: VISA, reference: REFERENCE };
    let (key, body) = (Uuid::new_v4(), wish.body());

    let first = world.api.try_place(Some(key), &body).await;
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
        world.stack.down(&[Part::Orders]).await?;
    }
    world.stack.dead(Part::Orders).await?;
    let committed = world.books.orders_called(&world.tenant, REFERENCE).await?;
    step.equal("orders committed by then", 1, committed.len(), "./dev psql orders");

    step.doing("starting orders again");
    world.stack.up(&[Part::Orders]).await?;
    let second = world.api.place(key, &body).await?;
    let third = world.api.place(key, &body).await?;
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
    step.figure(format!("after the restart its retry got {}, {status}", second.status));
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
