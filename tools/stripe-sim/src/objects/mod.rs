//! The objects as clients see them. Members that this stand-in never fills are there where the protocol says so.

mod balance_transaction;
mod charge;
mod event;
mod intent;
mod refund;

pub(crate) use balance_transaction::balance_transaction;
pub(crate) use charge::charge;
pub(crate) use event::event;
pub(crate) use intent::payment_intent;
pub(crate) use refund::refund;

use database::Tx;
use serde_json::Value;

use crate::store::{balance, charges, intents, refunds};

/// The objects with these ids, which are all of one kind; the prefix tells which.
pub(crate) async fn by_ids(tx: &mut Tx, mut ids: Vec<String>) -> database::Result<Vec<Value>> {
    ids.sort();
    ids.dedup();
    let kind = ids.first().and_then(|id| id.split('_').next()).unwrap_or_default();
    Ok(match kind {
        "ch" => charges::with_ids(tx, &ids).await?.iter().map(charge).collect(),
        "txn" => balance::with_ids(tx, &ids).await?.iter().map(balance_transaction).collect(),
        "pi" => intents::with_ids(tx, &ids).await?.iter().map(payment_intent).collect(),
        "re" => refunds::with_ids(tx, &ids).await?.iter().map(refund).collect(),
        _ => Vec::new(),
    })
}
