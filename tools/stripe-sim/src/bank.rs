//! The banks behind the cards: decisions that are made later, and the task that carries them out when they are due.
//!
//! A decision is committed with the operation that leaves something open, so it survives a restart. An object that
//! has changed in the meantime is left as it is.

use std::sync::Arc;
use std::time::Duration;

use database::{Tx, UnitOfWork, WakeUp};
use strum::{EnumString, IntoStaticStr};

use crate::objects;
use crate::operations::balance::{self, Movement};
use crate::operations::cards::Decline;
use crate::processor::{Cause, Processor};
use crate::protocol::Error;
use crate::store::intents::{self, Intent};
use crate::store::{charges, decisions, refunds};
use crate::webhooks::emit;

const SCHEDULED: WakeUp = WakeUp("a bank decision was scheduled");
/// The `failure_reason` of a refund that a bank returns.
const RETURNED: &str = "expired_or_canceled_card";

/// A decision that a bank makes later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Decision {
    /// The pending charge of a payment intent is paid.
    ChargeSucceeds,
    /// The pending charge of a payment intent is declined.
    ChargeFails,
    /// A pending refund has reached its card.
    RefundSucceeds,
    /// A refund does not reach its card, or is returned.
    RefundFails,
}

/// Schedules a decision about the object.
pub(crate) async fn schedule(
    tx: &mut Tx,
    decision: Decision,
    object: &str,
    delay: Duration,
) -> database::Result<()> {
    decisions::insert(tx, object, decision.into(), delay).await?;
    tx.wake_after_commit(SCHEDULED);
    Ok(())
}

/// Carries decisions out until the process ends.
pub(crate) async fn run(processor: Arc<Processor>) {
    let scheduled = processor.database.wake_up(SCHEDULED);
    loop {
        let pause = match carry_out_due(&processor).await {
            Ok(pause) => pause,
            Err(error) => {
                tracing::warn!(%error, "bank decisions wait for the database");
                None
            }
        };
        processor.pause(&scheduled, pause).await;
    }
}

/// Carries out every decision that is due. Returns the time until the next one.
async fn carry_out_due(processor: &Processor) -> Result<Option<Duration>, Error> {
    let bank = Cause::bank(processor);
    loop {
        let mut tx = processor.database.begin().await?;
        let Some(due) = decisions::take_due(&mut tx).await? else {
            tx.rollback().await?;
            break;
        };
        match due.decision.parse() {
            Ok(Decision::ChargeSucceeds) => charge_succeeds(&mut tx, &bank, &due.object).await?,
            Ok(Decision::ChargeFails) => charge_fails(&mut tx, &bank, &due.object).await?,
            Ok(Decision::RefundSucceeds) => refund_succeeds(&mut tx, &bank, &due.object).await?,
            Ok(Decision::RefundFails) => refund_fails(&mut tx, &bank, &due.object).await?,
            Err(_) => {}
        }
        tx.commit().await?;
        tracing::info!(object = due.object, decision = due.decision, "bank decision carried out");
    }
    Ok(decisions::next(&mut processor.database.connection().await?).await?)
}

async fn charge_succeeds(tx: &mut Tx, bank: &Cause<'_>, id: &str) -> Result<(), Error> {
    let Some((intent, charge)) = processing(tx, id).await? else { return Ok(()) };
    let movement = balance::record(tx, Movement::Charge, &charge, intent.amount, &intent.currency).await?;
    charges::capture(tx, &charge, intent.amount, &movement.id).await?;
    let intent = intents::succeed(tx, id, intent.amount).await?;
    emit(tx, bank, "payment_intent.succeeded", objects::payment_intent(&intent)).await
}

async fn charge_fails(tx: &mut Tx, bank: &Cause<'_>, id: &str) -> Result<(), Error> {
    let Some((_, charge)) = processing(tx, id).await? else { return Ok(()) };
    let decline_code = Decline::Generic.decline_code();
    charges::decline(tx, &charge, decline_code).await?;
    let intent = intents::decline(tx, id, decline_code).await?;
    emit(tx, bank, "payment_intent.payment_failed", objects::payment_intent(&intent)).await
}

/// The payment intent, locked, and its charge, if the intent still waits for the bank.
async fn processing(tx: &mut Tx, id: &str) -> Result<Option<(Intent, String)>, Error> {
    let Some(intent) = intents::locked(tx, id).await? else { return Ok(None) };
    let charge = intent.latest_charge.clone().filter(|_| intent.status == "processing");
    Ok(charge.map(|charge| (intent, charge)))
}

async fn refund_succeeds(tx: &mut Tx, bank: &Cause<'_>, id: &str) -> Result<(), Error> {
    let Some((refund, charge)) = locked_refund(tx, id).await? else { return Ok(()) };
    if refund.status != "pending" {
        return Ok(());
    }
    let movement = balance::record(tx, Movement::Refund, id, refund.amount, &refund.currency).await?;
    let refund = refunds::succeed(tx, id, &movement.id).await?;
    emit(tx, bank, "refund.updated", objects::refund(&refund)).await?;
    emit(tx, bank, "charge.refunded", objects::charge(&charge)).await
}

async fn refund_fails(tx: &mut Tx, bank: &Cause<'_>, id: &str) -> Result<(), Error> {
    let Some((refund, charge)) = locked_refund(tx, id).await? else { return Ok(()) };
    if refund.status == "failed" {
        return Ok(());
    }
    let movement = if refund.status == "succeeded" {
        Some(balance::record(tx, Movement::RefundFailure, id, refund.amount, &refund.currency).await?)
    } else {
        None
    };
    // The amount can be refunded again.
    charges::count_refund(tx, &charge.id, -refund.amount).await?;
    let refund =
        refunds::fail(tx, id, RETURNED, movement.as_ref().map(|movement| movement.id.as_str())).await?;
    let object = objects::refund(&refund);
    emit(tx, bank, "refund.updated", object.clone()).await?;
    emit(tx, bank, "refund.failed", object).await
}

/// The refund and its charge. Refunds change under the lock of their charge, so the refund is read after the lock.
async fn locked_refund(tx: &mut Tx, id: &str) -> Result<Option<(refunds::Refund, charges::Charge)>, Error> {
    let Some(refund) = refunds::find(tx, id).await? else { return Ok(None) };
    let Some(charge) = charges::locked(tx, &refund.payment_intent).await? else { return Ok(None) };
    Ok(refunds::find(tx, id).await?.map(|refund| (refund, charge)))
}
