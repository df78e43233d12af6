//! From what happened to its posting. Each may be called again: what is posted stays as it is.

use contracts::{OrderId, RefundId};
use database::{Result, Tx};

use crate::domain::ledger::{Kind, Posting, Purpose};
use crate::domain::{ProcessorReference, payment, refund};
use crate::store::ledger::{self, NewPosting};
use crate::store::payments::PaymentRow;
use crate::store::refunds::RefundRow;

/// The payment was there and is here now: its money may have been taken, and the processor may have kept its share.
pub(crate) async fn payment_moved(
    tx: &mut Tx,
    payment: &PaymentRow,
    from: &payment::State,
    to: &payment::State,
) -> Result<()> {
    // What took no money can be given up even where its amount cannot be read.
    if !matches!(to, payment::State::Captured(_)) {
        return Ok(());
    }
    let amount = payment.amount()?;
    for posting in Posting::of_payment(amount, purpose(payment), from, to) {
        // What a fee was for, the processor's own movement says; for all else it is the payment.
        let cause = match (posting.kind(), to) {
            (Kind::Fee, payment::State::Captured(ProcessorReference { fee: Some(fee), .. })) => {
                fee.balance_transaction.clone()
            }
            _ => payment.id().to_string(),
        };
        post(tx, payment, None, posting, cause).await?;
    }
    Ok(())
}

/// Its order is confirmed: what was taken is earned.
pub(crate) async fn order_confirmed(tx: &mut Tx, payment: &PaymentRow, order: OrderId) -> Result<()> {
    let posting = Posting::confirmation(payment.amount()?);
    post(tx, payment, None, posting, order.to_string()).await
}

/// The refund was there and is here now: its money may have gone, or have come back.
pub(crate) async fn refund_moved(
    tx: &mut Tx,
    payment: &PaymentRow,
    row: &RefundRow,
    from: &refund::State,
    to: &refund::State,
) -> Result<()> {
    let amount = payment.in_its_currency(row.amount)?;
    match Posting::of_refund(amount, purpose(payment), from, to) {
        Some(posting) => post(tx, payment, Some(row.id()), posting, row.id().to_string()).await,
        None => Ok(()),
    }
}

fn purpose(payment: &PaymentRow) -> Purpose {
    match (payment.order(), payment.confirmed) {
        (None, _) => Purpose::NoOrder,
        (Some(_), false) => Purpose::OpenOrder,
        (Some(_), true) => Purpose::ConfirmedOrder,
    }
}

async fn post(
    tx: &mut Tx,
    payment: &PaymentRow,
    refund: Option<RefundId>,
    posting: Posting,
    cause: String,
) -> Result<()> {
    let tenant = payment.tenant()?;
    let (kind, payment) = (posting.kind(), payment.id());
    let new = NewPosting { tenant: &tenant, posting, cause, payment, refund };
    if ledger::insert(tx, new).await? {
        tracing::info!(%payment, ?kind, "LedgerPosted");
    }
    Ok(())
}
