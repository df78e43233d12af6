//! The job that cancels orders which were not confirmed in time.
//!
//! An order, its event, its timeline entry and its audit fact are written in one transaction. Instances share the
//! work: each locks other orders. An order that cannot be expired is logged and tried again in the next round; the
//! other orders do not wait for it.

use audit::Fact;
use contracts::{Caller, OperationId, OrderId};
use database::{Database, ErrorClass, Tx};
use uuid::Uuid;

use crate::domain::{Cause, Input};
use crate::store::orders::{self, DuePosition, OrderRow};
use crate::transitions::{self, TransitionError};

/// Orders in one transaction. Each has a savepoint, and PostgreSQL keeps 64 of them in memory per session: above that,
/// every snapshot on the server becomes slower.
const BATCH: i64 = 50;

/// Batches in one round. Because a round ends, the job can stop between two rounds.
const BATCHES_PER_ROUND: usize = 20;

/// Runs one round: expires the orders whose time has passed, the longest overdue first.
pub(crate) async fn expire_due(database: Database) -> database::Result<()> {
    let mut after = None;
    for _ in 0..BATCHES_PER_ROUND {
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
    let last = due.last().map(OrderRow::due_position);
    for order in due {
        crashpoint::reach!("expire.order_picked");
        let id = order.id();
        match tx.savepoint(async move |tx| expire(tx, order).await).await {
            Err(TransitionError::Database(error)) if error.class() == ErrorClass::Unavailable => {
                return Err(error);
            }
            Err(error) => {
                tracing::warn!(order = %id, %error, "an order was not expired; the next round tries again");
            }
            Ok(()) => {}
        }
    }
    tx.commit().await?;
    Ok(last)
}

/// Expires one locked order. Writes at once what is pending, so that an error of these rows concerns this order alone.
async fn expire(tx: &mut Tx, order: OrderRow) -> Result<(), TransitionError> {
    let (caller, operation) = (Caller::system(order.tenant()?), operation_of(order.id()));
    let order =
        transitions::apply_to_locked(tx, order, Input::Expire, &Cause::job(operation, &caller)).await?;
    audit::record(tx, Fact::new(&caller, operation, "order.expire", "order", order.id()));
    Ok(tx.flush().await?)
}

/// The id of the operation "expire this order" (UUIDv5). A second expiry of the order cannot be stored, because
/// `audit_fact.operation_id` and the timeline's cause are unique.
fn operation_of(order: OrderId) -> OperationId {
    Uuid::new_v5(&order.uuid(), b"expire").into()
}

#[cfg(test)]
mod tests;
