//! Requests that are refused, and leave nothing behind.

use uuid::Uuid;

use crate::api::{CommandRequest, Order};
use crate::report::{Step, span};
use crate::trouble::Trouble;
use crate::world::{TEA, VISA, World};

const LOOK: &str = "./dev logs orders";

/// A key that was used before, with another content.
pub(crate) async fn reused_key(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    const REFERENCE: &str = "reused-key";
    let wish = CommandRequest { lines: &[(TEA, 1)], card: VISA, reference: REFERENCE };
    let (key, body) = (Uuid::new_v4(), wish.body());
    let first = world.api.place(key, &body).await?;
    step.equal("the first request", 201, first.status, LOOK);

    let other = CommandRequest { lines: &[(TEA, 2)], ..wish }.body();
    let refused = world.api.place(key, &other).await?;
    step.equal(
        "the other body",
        (409, "idempotency-key-reused".to_owned()),
        (refused.status, refused.code()),
        LOOK,
    );
    step.equal("its Retry-After", None, refused.retry_after(), LOOK);

    let again = world.api.place(key, &body).await?;
    step.equal("the first body again, replayed", true, again.is_replay(), LOOK);
    step.holds("its answer", "the first one", again.status, again.receipt() == first.receipt(), LOOK);

    let orders = world.books.orders_called(&world.tenant, REFERENCE).await?.len();
    step.equal("orders in the database", 1, orders, "./dev psql orders");
    let order: Order = first.read(201)?;
    step.equal("how it ended", "confirmed", world.ships(order.id).await?.end(), "./dev logs");
    let retry_after = refused.retry_after().map_or("no".to_owned(), span);
    step.figure(format!("{} {}, {retry_after} Retry-After", refused.status, refused.code()));
    step.figure(format!(
        "the first body still gets {} ({}), {orders} order",
        again.status,
        again.header("idempotency-status").unwrap_or("not marked")
    ));
    Ok(())
}

/// A command without a key.
pub(crate) async fn missing_key(world: &World<'_>, step: &mut Step<'_>) -> Result<(), Trouble> {
    const REFERENCE: &str = "no-key";
    let body = CommandRequest { lines: &[(TEA, 1)], card: VISA, reference: REFERENCE }.body();
    let refused = world.api.try_place(None, &body).await;
    let refused =
        refused.map_err(|source| Trouble::NoAnswer { request: "POST /v1/orders".to_owned(), source })?;
    let seen = (refused.status, refused.code(), refused.header("content-type").map(str::to_owned));
    let expected = (400, "idempotency-key-missing".to_owned(), Some("application/problem+json".to_owned()));
    step.equal("the answer", expected, seen, LOOK);
    let orders = world.books.orders_called(&world.tenant, REFERENCE).await?.len();
    step.equal("orders in the database", 0, orders, "./dev psql orders");
    step.figure(format!("{} {}, {orders} orders", refused.status, refused.code()));
    Ok(())
}
