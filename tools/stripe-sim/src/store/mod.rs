//! Every query over the books, but those for idempotency keys; one file for each kind of object.

pub(crate) mod balance;
pub(crate) mod charges;
pub(crate) mod decisions;
pub(crate) mod deliveries;
pub(crate) mod events;
pub(crate) mod intents;
pub(crate) mod refunds;

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use database::Connection;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use crate::schema::idempotency_key;

/// What a client attached to an object, to find it again.
pub(crate) type Metadata = BTreeMap<String, String>;

/// `prefix_` and 32 characters that nobody else has.
pub(crate) fn new_id(prefix: &str) -> String {
    format!("{prefix}_{}", Uuid::now_v7().simple())
}

/// Whether the tables are there and this role may read them. What the last migration made is asked for, as each commits
/// for itself.
pub(crate) async fn check(connection: &mut Connection) -> database::Result<()> {
    let any = idempotency_key::table.select(idempotency_key::valid_until).limit(1);
    any.first::<DateTime<Utc>>(connection).await.optional()?;
    Ok(())
}
