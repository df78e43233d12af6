//! An event is written in the transaction of its cause: neither is there without the other.

use database::{Tx, UnitOfWork, WakeUp};
use serde_json::Value;

use crate::processor::Occasion;
use crate::protocol::Failure;
use crate::store::events::{self, NewEvent};
use crate::store::new_id;

/// There are events to deliver.
pub(crate) const EMITTED: WakeUp = WakeUp("events were emitted");

/// Notes what has happened to the object, as it is now.
pub(crate) async fn emit(
    tx: &mut Tx,
    on: &Occasion,
    kind: &'static str,
    object: &Value,
) -> Result<(), Failure> {
    let id = new_id("evt");
    let (request, idempotency_key) = (on.request.as_deref(), on.key.as_deref());
    events::insert(tx, &NewEvent { id: &id, kind, object, request, idempotency_key }).await?;
    tx.wake_after_commit(EMITTED);
    Ok(())
}
