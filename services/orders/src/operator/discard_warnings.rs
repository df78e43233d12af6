//! Warns an operator who discards a message: which order stays open, which catalogue entry stays old.

use contracts::events::ItemChanged;
use database::Tx;
use inbox::{DiscardedMessage, HandlerError};

use crate::domain::State;
use crate::store::orders;

/// Returns the consequences of discarding this message, one sentence each.
pub(crate) async fn discard_warnings(
    tx: &mut Tx,
    discarded: &DiscardedMessage,
) -> Result<Vec<String>, HandlerError> {
    if discarded.is::<ItemChanged>() {
        let item = discarded.aggregate;
        return Ok(vec![format!(
            "the catalogue keeps the old name and price of item {item} until the item changes again"
        )]);
    }
    // A reservation has the id of its order; a payment has an id of its own.
    let Some(order) = orders::find_by_order_or_payment(tx, discarded.aggregate).await? else {
        return Ok(Vec::new());
    };
    Ok(match order.state()? {
        state @ (State::Pending | State::AwaitingPayment) => vec![format!(
            "order {} stays open ({state:?}) until {}; then it expires and is cancelled",
            order.id(),
            database::time::to_rfc3339(order.expires_at)
        )],
        State::Confirmed | State::Cancelled { .. } => Vec::new(),
    })
}
