//! What stays open when a message about an order is given up: whoever does it must hear of the order.

use contracts::events::ItemChanged;
use database::Tx;
use inbox::{DiscardedMessage, HandlerError};

use crate::domain::State;
use crate::store::orders;

/// What will not end as it would have.
pub(crate) async fn what_stays_open(
    tx: &mut Tx,
    discarded: &DiscardedMessage,
) -> Result<Vec<String>, HandlerError> {
    if discarded.is::<ItemChanged>() {
        let item = discarded.aggregate;
        return Ok(vec![format!(
            "the catalogue keeps what it had of item {item} until the item changes again"
        )]);
    }
    // A reservation has its order's id, a payment one of its own.
    let Some(order) = orders::find_of(tx, discarded.aggregate).await? else { return Ok(Vec::new()) };
    let warning = match order.state()? {
        state @ (State::Pending | State::AwaitingPayment) => Some(format!(
            "order {} stays open ({state:?}) until it expires at {}; then it is cancelled",
            order.id(),
            database::time::to_rfc3339(order.expires_at)
        )),
        State::Confirmed | State::Cancelled { .. } => None,
    };
    Ok(warning.into_iter().collect())
}
