//! Posts movements of money to the double-entry ledger.
//!
//! Each function runs in the transaction that changes the payment or refund, under the row lock of the payment. The
//! ledger therefore always agrees with both tables. A posting that is stored already is left unchanged.

use contracts::{OrderId, RefundId};
use database::{Result, Tx};

use crate::domain::ledger::{Posting, PostingKind, Purpose};
use crate::domain::{ProcessorReference, payment, refund};
use crate::store::ledger::{self, NewPosting};
use crate::store::payments::PaymentRow;
use crate::store::refunds::RefundRow;

/// Posts what a payment's change of state moved: the capture and the fee, each when it becomes known.
pub(crate) fn payment_moved(
    tx: &mut Tx,
    payment: &PaymentRow,
    from: &payment::State,
    to: &payment::State,
) -> Result<()> {
    // Only captured payments post to the ledger. Return before reading the amount, so that a payment with an unreadable
    // amount can still be abandoned.
    if !matches!(to, payment::State::Captured(_)) {
        return Ok(());
    }
    let amount = payment.amount()?;
    for posting in Posting::of_payment(amount, purpose(payment), from, to) {
        // The cause of a fee is the processor's balance transaction. The cause of a capture is the payment.
        let cause = match (posting.kind(), to) {
            (PostingKind::Fee, payment::State::Captured(ProcessorReference { fee: Some(fee), .. })) => {
                fee.balance_transaction.clone()
            }
            _ => payment.id().to_string(),
        };
        post(tx, payment, None, posting, cause)?;
    }
    Ok(())
}

/// Posts the confirmation of the payment's order.
pub(crate) fn order_confirmed(tx: &mut Tx, payment: &PaymentRow, order: OrderId) -> Result<()> {
    let posting = Posting::confirmation(payment.amount()?);
    post(tx, payment, None, posting, order.to_string())
}

/// Posts what a refund's change of state moved: the refund, or its reversal.
pub(crate) fn refund_moved(
    tx: &mut Tx,
    payment: &PaymentRow,
    row: &RefundRow,
    from: &refund::State,
    to: &refund::State,
) -> Result<()> {
    let amount = payment.in_its_currency(row.amount)?;
    match Posting::of_refund(amount, purpose(payment), from, to) {
        Some(posting) => post(tx, payment, Some(row.id()), posting, row.id().to_string()),
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

fn post(
    tx: &mut Tx,
    payment: &PaymentRow,
    refund: Option<RefundId>,
    posting: Posting,
    cause: String,
) -> Result<()> {
    let (kind, tenant, payment) = (posting.kind(), payment.tenant()?, payment.id());
    ledger::add(tx, NewPosting { tenant, posting, cause, payment, refund });
    tracing::info!(%payment, ?kind, "LedgerPosted");
    Ok(())
}
