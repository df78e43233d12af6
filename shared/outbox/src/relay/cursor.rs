//! How far the relay is. Kept in memory, written a few times a second, fenced by the epoch.

use database::Database;
use database::functions::clock_timestamp;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::Fault;

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

/// Everything that A sees is published; of the window up to B, everything up to `last_id`.
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

    /// Writes it down, unless another relay has taken over since.
    pub(super) async fn checkpoint(&self, database: &Database, epoch: i64) -> Result<(), Fault> {
        let mut connection = database.connection().await?;
        crashpoint::reach!("relay.before_checkpoint");
        #[cfg(not(feature = "mutant-no-fence"))]
        let mine = outbox_cursor::table.filter(outbox_cursor::epoch.eq(epoch));
        #[cfg(feature = "mutant-no-fence")] // a relay that was replaced moves the cursor, too
        let mine = outbox_cursor::table.filter(outbox_cursor::epoch.ge(epoch));
        let moved = diesel::update(mine)
            .set((
                outbox_cursor::snapshot_a.eq(&self.snapshot_a),
                outbox_cursor::snapshot_b.eq(&self.snapshot_b),
                outbox_cursor::last_id.eq(self.last_id),
                outbox_cursor::updated_at.eq(clock_timestamp()),
            ))
            .execute(&mut connection)
            .await?;
        if moved == 1 { Ok(()) } else { Err(Fault::Replaced) }
    }
}
