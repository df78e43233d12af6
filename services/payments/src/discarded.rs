//! What stays open when a message of an order is given up: whoever does it must hear of the money.

use contracts::OrderId;
use contracts::events::{OrderConfirmed, PaymentRequested};
use database::Tx;
use inbox::{DiscardedMessage, HandlerError};

use crate::domain::payment::State;
use crate::store::payments;

/// What will not end by itself.
pub(crate) async fn what_stays_open(
    tx: &mut Tx,
    discarded: &DiscardedMessage,
) -> Result<Vec<String>, HandlerError> {
    let order = OrderId::from(discarded.aggregate);
    let Some(payment) = payments::lock_of_order(tx, order).await? else {
        let never = format!("order {order} is not charged: it stays open until it expires");
        return Ok(if discarded.is::<PaymentRequested>() { vec![never] } else { Vec::new() });
    };
    let id = payment.id();
    let warning = match payment.state()? {
        State::Captured(_) if discarded.is::<OrderConfirmed>() && !payment.confirmed => Some(format!(
            "payment {id} of order {order} is not earned: its money stays on the ledger's clearing account, and \
             nobody can have it back"
        )),
        // Given back in whole, or about to be.
        State::Captured(_) if payment.refund_reserved >= payment.amount()?.amount => None,
        State::Captured(_) => Some(format!(
            "payment {id} of order {order} stays captured: its money is not given back, whatever the message said"
        )),
        State::Requested | State::Capturing | State::Unknown => Some(format!(
            "payment {id} of order {order} stays open: it is charged as if the message had never been, and nothing \
             gives the money back"
        )),
        State::Declined { .. } | State::Cancelled => None,
    };
    Ok(warning.into_iter().collect())
}
