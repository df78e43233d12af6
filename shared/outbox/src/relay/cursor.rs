//! The cursor: how far the outbox is published.
//!
//! The active relay keeps it in memory and writes it a few times a second. The epoch fences the row: a relay that was replaced
//! cannot write it.

use database::Database;
use database::functions::clock_timestamp;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::RelayError;

diesel::table! {
    outbox_cursor (singleton) {
        singleton -> Bool,
        epoch -> BigInt,
        snapshot_a -> Text,
        snapshot_b -> Nullable<Text>,
        last_id -> BigInt,
        updated_at -> Timestamptz,
    }
}

/// All rows that are visible in snapshot A are published. Of the present window, which ends with snapshot B, the rows up to
/// `last_id` are published. Between two windows there is no snapshot B.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = outbox_cursor)]
pub(crate) struct Cursor {
    pub(crate) snapshot_a: String,
    pub(crate) snapshot_b: Option<String>,
    pub(crate) last_id: i64,
}

impl Cursor {
    pub(crate) async fn load(database: &Database) -> database::Result<Self> {
        let mut connection = database.connection().await?;
        Ok(outbox_cursor::table.select(Self::as_select()).first(&mut connection).await?)
    }

    /// Writes the cursor. Fails with `Replaced` if another relay has raised the epoch.
    pub(super) async fn checkpoint(&self, database: &Database, epoch: i64) -> Result<(), RelayError> {
        let mut connection = database.connection().await?;
        crashpoint::reach!("relay.before_checkpoint");
        #[cfg(not(feature = "mutant-no-fence"))]
        let own = outbox_cursor::table.filter(outbox_cursor::epoch.eq(epoch));
        #[cfg(feature = "mutant-no-fence")] // lets a replaced relay move the cursor
        let own = outbox_cursor::table.filter(outbox_cursor::epoch.ge(epoch));
        let written = diesel::update(own)
            .set((
                outbox_cursor::snapshot_a.eq(&self.snapshot_a),
                outbox_cursor::snapshot_b.eq(&self.snapshot_b),
                outbox_cursor::last_id.eq(self.last_id),
                outbox_cursor::updated_at.eq(clock_timestamp()),
            ))
            .execute(&mut connection)
            .await?;
        if written == 1 { Ok(()) } else { Err(RelayError::Replaced) }
    }
}
