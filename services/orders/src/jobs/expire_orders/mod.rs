//! The job that cancels orders which were not confirmed in time.
//!
//! An order, its event, its timeline entry and its audit fact are written in one transaction, together with those of other
//! orders. Instances share the work: each locks other orders. An order that cannot be expired is logged and tried again in the
//! next round; the other orders do not wait for it.
//!
//! An expiry has no idempotency record, because no client reads it. It happens once: an ended order does not change, and the operation
//! id of its audit fact, which is unique, is computed from the order's id.

use std::slice;

use audit::Fact;
use contracts::OrderId;
use database::{Database, ErrorClass, Locked, Tx};
use envelope::{Caller, OperationId};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::domain::Cause;
use crate::store::orders::{self, DuePosition, OrderRow};
use crate::transitions::{self, TransitionError};

/// Orders in one transaction. After an error each has a savepoint, and PostgreSQL keeps 64 of them in memory per session:
/// above that, every snapshot on the server becomes slower.
const BATCH: i64 = 50;

/// Runs one round: expires all orders whose time has passed, the longest overdue first.
pub(crate) async fn expire_due(database: Database, stop: CancellationToken) -> database::Result<()> {
    let mut after = None;
    while !stop.is_cancelled() {
        after = expire_batch(&database, after).await?;
        if after.is_none() {
            break;
        }
    }
    Ok(())
}

/// Expires the next batch of orders after this position. Returns the position of the last one; `None` if none was due.
async fn expire_batch(
    database: &Database,
    after: Option<DuePosition>,
) -> database::Result<Option<DuePosition>> {
    let mut tx = database.begin().await?;
    let due = orders::lock_due(&mut tx, after, BATCH).await?;
    let Some(last) = due.last().map(|order| order.due_position()) else {
        tx.rollback().await?;
        return Ok(None);
    };
    for _ in &due {
        crashpoint::reach!("expire.order_picked");
    }
    if expire_together(&mut tx, &due).await?.is_err() {
        for order in &due {
            if let Err(error) = expire_together(&mut tx, slice::from_ref(order)).await? {
                let id = order.id();
                tracing::warn!(order = %id, %error, "an order was not expired; the next round tries again");
            }
        }
    }
    tx.commit().await?;
    Ok(Some(last))
}

/// Expires locked orders behind a savepoint. The inner error is about one of them; the outer one is about the database.
async fn expire_together(
    tx: &mut Tx,
    due: &[Locked<OrderRow>],
) -> database::Result<Result<(), TransitionError>> {
    match tx.savepoint(async |tx| expire(tx, due).await).await {
        Err(TransitionError::Database(error)) if error.class() == ErrorClass::Unavailable => Err(error),
        expired => Ok(expired),
    }
}

/// Writes at once what is pending, so that an error of these rows concerns these orders alone.
async fn expire(tx: &mut Tx, due: &[Locked<OrderRow>]) -> Result<(), TransitionError> {
    for order in due {
        let (caller, operation) = (Caller::system(order.tenant()?), operation_of(order.id()));
        if transitions::expire(tx, order, &Cause::job(operation, &caller))? {
            audit::record(tx, Fact::new(&caller, operation, "order.expire", "order", order.id()));
        }
    }
    Ok(tx.flush().await?)
}

/// The id of the operation "expire this order" (UUIDv5). A second expiry of the order cannot be stored, because
/// `audit_fact.operation_id` and the timeline's cause are unique.
fn operation_of(order: OrderId) -> OperationId {
    Uuid::new_v5(&order.uuid(), b"expire").into()
}

#[cfg(test)]
mod tests;
