//! Applies an input to the payment or refund of a call, and requests lookups.

use contracts::PaymentId;
use database::Tx;
use uuid::Uuid;

use super::{TransitionError, move_payment, move_refund};
use crate::domain::{CallInput, CallKind, EventClaim, NextStep};
use crate::processor::CallPolicy;
use crate::store::calls::{self, CallRow};
use crate::store::payments::{self, PaymentRow};
use crate::store::refunds::{self, RefundRow};
use crate::store::webhook_events::KnownCall;

/// Changes the payment or refund of a call by one input. Returns the refund, if the call makes one, and what the worker does with the
/// call. The payment and the call are locked.
pub(crate) async fn move_call(
    tx: &mut Tx,
    policy: &CallPolicy,
    payment: &PaymentRow,
    call: &CallRow,
    input: CallInput,
) -> Result<(Option<RefundRow>, NextStep), TransitionError> {
    match call.kind {
        CallKind::Charge => Ok((None, move_payment(tx, policy, payment, input).await?.1)),
        CallKind::Refund => {
            let refund = refunds::get(tx, call.id.into()).await?;
            let (_, next) = move_refund(tx, policy, payment, &refund, call.in_flight, input).await?;
            Ok((Some(refund), next))
        }
    }
}

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
