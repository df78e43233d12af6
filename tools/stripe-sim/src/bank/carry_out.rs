//! What a decision does to the books. An object that has gone on meanwhile is left as it is.

use database::Tx;

use super::Decision;
use crate::objects;
use crate::operations::cards::Decline;
use crate::operations::money;
use crate::processor::Occasion;
use crate::protocol::Failure;
use crate::store::intents::Standing;
use crate::store::{charges, intents, refunds};
use crate::webhooks::events;

/// What a bank says of a refund that it returns.
const RETURNED: &str = "expired_or_canceled_card";

pub(super) async fn carry_out(
    tx: &mut Tx,
    on: &Occasion,
    decision: Decision,
    object: &str,
) -> Result<(), Failure> {
    match decision {
        Decision::ChargeSucceeds => charge_succeeds(tx, on, object).await,
        Decision::ChargeFails => charge_fails(tx, on, object).await,
        Decision::RefundSucceeds => refund_succeeds(tx, on, object).await,
        Decision::RefundFails => refund_fails(tx, on, object).await,
    }
}

async fn charge_succeeds(tx: &mut Tx, on: &Occasion, id: &str) -> Result<(), Failure> {
    let Some((intent, charge)) = processing(tx, id).await? else { return Ok(()) };
    let movement = money::captured(tx, &charge, intent.amount, &intent.currency).await?;
    charges::capture(tx, &charge, intent.amount, &movement).await?;
    let intent = intents::succeed(tx, id, intent.amount).await?;
    events::emit(tx, on, "payment_intent.succeeded", &objects::payment_intent(&intent)).await
}

async fn charge_fails(tx: &mut Tx, on: &Occasion, id: &str) -> Result<(), Failure> {
    let Some((_, charge)) = processing(tx, id).await? else { return Ok(()) };
    let decline = Decline::GENERIC;
    charges::decline(tx, &charge, decline.code, decline.decline_code).await?;
    let standing = Standing {
        status: "requires_payment_method",
        latest_charge: Some(&charge),
        error_code: Some(decline.code),
        decline_code: decline.decline_code,
        ..Standing::default()
    };
    let intent = intents::update(tx, id, &standing).await?;
    events::emit(tx, on, "payment_intent.payment_failed", &objects::payment_intent(&intent)).await
}

/// The intent, locked, and its charge, if the bank has still to decide.
async fn processing(tx: &mut Tx, id: &str) -> Result<Option<(intents::Intent, String)>, Failure> {
    let Some(intent) = intents::locked(tx, id).await? else { return Ok(None) };
    let charge = intent.latest_charge.clone().filter(|_| intent.status == "processing");
    Ok(charge.map(|charge| (intent, charge)))
}

async fn refund_succeeds(tx: &mut Tx, on: &Occasion, id: &str) -> Result<(), Failure> {
    let Some((refund, charge)) = of_refund(tx, id).await? else { return Ok(()) };
    if refund.status != "pending" {
        return Ok(());
    }
    let movement = money::given_back(tx, id, refund.amount, &refund.currency).await?;
    let refund = refunds::succeed(tx, id, &movement).await?;
    events::emit(tx, on, "refund.updated", &objects::refund(&refund)).await?;
    events::emit(tx, on, "charge.refunded", &objects::charge(&charge)).await
}

async fn refund_fails(tx: &mut Tx, on: &Occasion, id: &str) -> Result<(), Failure> {
    let Some((refund, charge)) = of_refund(tx, id).await? else { return Ok(()) };
    if refund.status == "failed" {
        return Ok(());
    }
    let movement = if refund.status == "succeeded" {
        Some(money::returned(tx, id, refund.amount, &refund.currency).await?)
    } else {
        None
    };
    // What did not arrive may be asked for again.
    charges::count_refund(tx, &charge.id, -refund.amount).await?;
    let refund = refunds::fail(tx, id, RETURNED, movement.as_deref()).await?;
    let object = objects::refund(&refund);
    events::emit(tx, on, "refund.updated", &object).await?;
    events::emit(tx, on, "refund.failed", &object).await
}

/// The refund and its charge, which is locked: under that lock alone refunds change.
async fn of_refund(tx: &mut Tx, id: &str) -> Result<Option<(refunds::Refund, charges::Charge)>, Failure> {
    let Some(refund) = refunds::find(tx, id).await? else { return Ok(None) };
    let Some(charge) = charges::locked(tx, &refund.payment_intent).await? else { return Ok(None) };
    Ok(refunds::find(tx, id).await?.map(|refund| (refund, charge)))
}
