//! The warnings that an operator gets before discarding a message of an order: what happens to its money then.

use contracts::OrderId;
use contracts::events::{OrderConfirmed, PaymentRequested};
use database::Tx;
use inbox::{DiscardedMessage, HandlerError};

use crate::domain::payment::State;
use crate::store::payments;

/// Returns a warning if the payment of the order does not end by itself without this message.
pub(crate) async fn discard_warnings(
    tx: &mut Tx,
    discarded: &DiscardedMessage,
) -> Result<Vec<String>, HandlerError> {
    let order = OrderId::from(discarded.aggregate);
    let Some(payment) = payments::lock_of_order(tx, order).await? else {
        let warning = format!("order {order} will not be charged: it stays open until it expires");
        return Ok(if discarded.is::<PaymentRequested>() { vec![warning] } else { Vec::new() });
    };
    let id = payment.id();
    let warning = match payment.state()? {
        State::Captured(_) if discarded.is::<OrderConfirmed>() && !payment.confirmed => Some(format!(
            "payment {id} of order {order} is not posted as revenue: its amount stays in the ledger's clearing \
             account, and clients cannot refund it"
        )),
        // It is refunded in full, or a refund of the rest is in progress.
        State::Captured(_) if payment.refund_reserved >= payment.amount()?.amount => None,
        State::Captured(_) => Some(format!(
            "payment {id} of order {order} stays captured: it is not refunded, even if the message asks for it"
        )),
        State::Requested | State::Capturing | State::Unknown => Some(format!(
            "payment {id} of order {order} stays open: it is charged as if the message did not exist, and it is not \
             refunded"
        )),
        State::Declined { .. } | State::Cancelled => None,
    };
    Ok(warning.into_iter().collect())
}
