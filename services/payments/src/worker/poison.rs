//! An intent that cannot be taken, by a fault that waiting does not mend: it must neither keep others from being taken,
//! nor be tried for ever without anybody knowing.

use contracts::PaymentId;
use database::Tx;
use serde_json::json;
use uuid::Uuid;

use super::Limits;
use crate::advance::{self, Fault};
use crate::commands;
use crate::domain::Next;
use crate::domain::payment::Input;
use crate::processor::Forms;
use crate::review::{self, NewReview, Reason, Subject};
use crate::store::intents::{self, Faults};
use crate::store::payments;

/// Counts the fault. After the last one that is allowed people look; and a charge of which nothing was ever sent is
/// given up, because its client waits. Its payment is locked.
pub(super) async fn note(
    tx: &mut Tx,
    forms: &Forms,
    limits: &Limits,
    (payment, intent): (PaymentId, Uuid),
    fault: &Fault,
) -> Result<(), Fault> {
    let Faults { number, is_sent } = intents::note_fault(tx, intent).await?;
    tracing::error!(%payment, %intent, number, %fault, "an intent cannot be taken");
    if number < limits.faults {
        return Ok(intents::postpone(tx, intent, limits.pace.pause(number, None)).await?);
    }
    let given_up = tx.savepoint(async |tx| {
        let is_charge = intent == payment.uuid();
        let subject =
            if is_charge { Subject::Payment(payment) } else { Subject::Refund(payment, intent.into()) };
        let details = json!({ "faults": number, "latest": fault.to_string() });
        let reason = Reason::Poisoned;
        let row = payments::lock(tx, payment).await?;
        let tenant = row.tenant()?;
        review::open(tx, NewReview { tenant: Some(&tenant), subject, reason, details }).await?;
        if is_sent || !is_charge {
            return Ok(Next::Keep);
        }
        commands::payment_is_poisoned(tx, &row).await?;
        advance::payment(tx, forms, &row, Input::CancelRequested).await
    });
    match given_up.await {
        Ok(Next::Rest) => Ok(intents::rest(tx, intent).await?),
        Err(fault) if fault.is_passing() => Err(fault),
        Ok(_) | Err(_) => Ok(intents::postpone(tx, intent, limits.pace.longest).await?),
    }
}
