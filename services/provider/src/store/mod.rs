//! Every query over the books, but those for idempotency keys; one file for each kind of object.

pub(crate) mod charges;
pub(crate) mod intents;
pub(crate) mod refunds;

use std::collections::BTreeMap;

use database::Connection;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::schema::payment_intent;

/// What a client attached to an object, to find it again.
pub(crate) type Metadata = BTreeMap<String, String>;

/// `prefix_` and 32 characters that nobody else has.
pub(crate) fn new_id(prefix: &str) -> String {
    format!("{prefix}_{}", Uuid::now_v7().simple())
}

/// Whether the tables are there and this role may read them.
pub(crate) async fn check(connection: &mut Connection) -> database::Result<()> {
    let any = payment_intent::table.select(payment_intent::position).limit(1);
    any.first::<i64>(connection).await.optional()?;
    Ok(())
}
