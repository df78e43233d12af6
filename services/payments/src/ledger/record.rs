//! From what happened to its posting. Each may be called again: what is posted stays as it is.

use contracts::{Money, OrderId, RefundId};
use database::{Result, Tx};

use crate::domain::ledger::{Posting, Purpose};
use crate::domain::{payment, refund};
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
    let payment::State::Captured(receipt) = to else { return Ok(()) };
    let known = match from {
        payment::State::Captured(before) => before.fee.as_ref(),
        payment::State::Requested
        | payment::State::Capturing
        | payment::State::Unknown
        | payment::State::Declined { .. }
        | payment::State::Cancelled => {
            let posting = Posting::capture(payment.amount()?, purpose(payment));
            post(tx, payment, None, posting, payment.id().to_string()).await?;
            None
        }
    };
    match (known, &receipt.fee) {
        // In the currency of our account at the processor, which need not be the payment's.
        (None, Some(fee)) => {
            let posting = Posting::fee(Money::new(fee.amount, fee.currency));
            post(tx, payment, None, posting, fee.balance_transaction.clone()).await
        }
        (Some(_), _) | (None, None) => Ok(()),
    }
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
    use refund::State as S;
    let amount = payment.in_its_currency(row.amount)?;
    let posting = match (from, to) {
        (S::Pending | S::Unknown | S::Failed { .. }, S::Succeeded { .. }) => {
            Posting::refund(amount, purpose(payment))
        }
        // What the payment is for has not changed since: who is refunded before the order is confirmed has cancelled
        // it, and a cancelled order is never confirmed.
        (S::Succeeded { .. }, S::Failed { .. }) => Posting::reversal(amount, purpose(payment)),
        (S::Pending | S::Unknown | S::Failed { .. }, S::Pending | S::Unknown | S::Failed { .. })
        | (S::Succeeded { .. }, S::Pending | S::Unknown | S::Succeeded { .. }) => return Ok(()),
    };
    post(tx, payment, Some(row.id()), posting, row.id().to_string()).await
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
