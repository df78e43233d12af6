//! All SQL, one file a table. Idempotency keys have theirs in `keys`.

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

/// The `metadata` that a client attached to an object.
pub(crate) type Metadata = BTreeMap<String, String>;

/// `prefix_` and a new UUIDv7.
pub(crate) fn new_id(prefix: &str) -> String {
    format!("{prefix}_{}", Uuid::now_v7().simple())
}

/// Fails unless the tables exist and this role may read them.
pub(crate) async fn check(connection: &mut Connection) -> database::Result<()> {
    let any = idempotency_key::table.select(idempotency_key::valid_until).limit(1);
    any.first::<DateTime<Utc>>(connection).await.optional()?;
    Ok(())
}
