//! Warns an operator who discards a message: which stock stays held, and which order gets no event.

use contracts::OrderId;
use contracts::events::{OrderCancelled, OrderPlaced};
use database::Tx;
use inbox::{DiscardedMessage, HandlerError};

use crate::domain::State;
use crate::store::reservations::ReservationRow;

/// Returns the consequences of discarding this message, one sentence each.
pub(crate) async fn discard_warnings(
    tx: &mut Tx,
    discarded: &DiscardedMessage,
) -> Result<Vec<String>, HandlerError> {
    let order = OrderId::from(discarded.aggregate);
    Ok(match tx.lock::<ReservationRow>(order).await?.map(|row| row.reservation.state) {
        Some(State::Held) if discarded.is::<OrderCancelled>() => vec![format!(
            "the reservation of order {order} stays held although its cancellation is discarded: if the cancellation is \
             genuine, release the stock with inventory release {order}"
        )],
        Some(State::Held) => vec![format!(
            "the reservation of order {order} stays held: its stock is neither shipped nor released until a later \
             message of the order ends the reservation"
        )],
        None if discarded.is::<OrderPlaced>() => vec![format!(
            "nothing is reserved for order {order}, and orders is not informed: the order stays open until it expires"
        )],
        Some(State::Shipped | State::Released) | None => Vec::new(),
    })
}
