//! What stays open when a message of an order is given up: whoever does it must hear of the stock.

use contracts::OrderId;
use contracts::events::OrderPlaced;
use database::Tx;
use inbox::{DiscardedMessage, HandlerError};

use crate::store::reservations;

/// What will not end by itself.
pub(crate) async fn what_stays_open(
    tx: &mut Tx,
    discarded: &DiscardedMessage,
) -> Result<Vec<String>, HandlerError> {
    let order = OrderId::from(discarded.aggregate);
    let warning = match reservations::holder(tx, order).await? {
        Some(holder) if holder.is_held => Some(format!(
            "the reservation of order {order} stays held: its stock is neither shipped nor released until a later \
             message of the order says so"
        )),
        Some(_) => None,
        None if discarded.is::<OrderPlaced>() => Some(format!(
            "nothing is reserved for order {order}, and it is not told so: it stays open until it expires"
        )),
        None => None,
    };
    Ok(warning.into_iter().collect())
}
