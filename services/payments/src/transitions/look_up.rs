//! Requests lookups: the worker asks the processor for the state of a call.

use contracts::PaymentId;
use database::Tx;
use uuid::Uuid;

use crate::domain::EventClaim;
use crate::store::webhook_events::KnownCall;
use crate::store::{calls, payments, refunds};

/// Locks the payment and requests one lookup of a call of it.
pub(crate) async fn request_look_up(tx: &mut Tx, payment: PaymentId, call: Uuid) -> database::Result<()> {
    payments::lock(tx, payment).await?;
    calls::request_look_up(tx, call, None).await
}

/// Requests one lookup of the call that an event is about, unless the event cannot change it. `object` is the processor's
/// id of the call's object, if the event names it.
pub(crate) async fn look_up_after_event(
    tx: &mut Tx,
    call: &KnownCall,
    claim: EventClaim,
    object: Option<&str>,
) -> database::Result<()> {
    let payment = payments::lock(tx, call.payment).await?;
    let can_change = if call.id == call.payment.uuid() {
        claim.can_change_payment(&payment.state()?)
    } else {
        claim.can_change_refund(&refunds::get(tx, call.id.into()).await?.state()?)
    };
    if can_change {
        calls::request_look_up(tx, call.id, object).await?;
    }
    Ok(())
}
