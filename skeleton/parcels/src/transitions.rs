//! Every change of a parcel: lock the row, decide, write, announce.
//!
//! No other module changes the table. Row and event are written in the caller's transaction: both or none. The caller writes
//! the audit fact of its request.

use contracts::OrderId;
use database::{Locked, Tx};
use edge::{CommandError, Problem};
use envelope::TenantId;
use inbox::HandlerError;

use crate::domain::{Input, decide};
use crate::events::{ParcelCompleted, ParcelId};
use crate::store::parcels::{self, ParcelRow};

/// Creates the parcel of an order. An order that has one keeps it.
#[tracing::instrument(name = "transition", skip_all, fields(%order))]
pub(crate) async fn create(tx: &mut Tx, tenant: &TenantId, order: OrderId) -> Result<(), HandlerError> {
    Ok(parcels::insert(tx, tenant, order).await?)
}

/// Completes a parcel of this tenant, and announces it.
#[tracing::instrument(name = "transition", skip_all, fields(parcel = %id))]
pub(crate) async fn complete(
    tx: &mut Tx,
    tenant: &TenantId,
    id: ParcelId,
    note: &str,
) -> Result<Locked<ParcelRow>, CommandError> {
    let not_found = || CommandError::Rejected(Problem::not_found("parcel"));
    let row = parcels::lock(tx, tenant, id).await?.ok_or_else(not_found)?;
    let state = decide(row.state, Input::Complete)?;
    let row = parcels::change(tx, row, state, note);
    let event = ParcelCompleted { parcel: id, order: row.order() };
    outbox::append(tx, tenant, row.sequence, &event)?;
    Ok(row)
}
