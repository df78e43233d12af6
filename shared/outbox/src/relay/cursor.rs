//! The cursor: how far the outbox is published.
//!
//! The active relay keeps it in memory and writes it a few times a second. The epoch fences the row: a relay that was replaced
//! cannot write it.
//!
//! What goes wrong without the epoch: a relay is paused past its lease, another one publishes a thousand rows, and the first one
//! wakes up and writes its old cursor, or a newer one over rows that the second one is still sending. The next term skips these.

use database::functions::clock_timestamp;
use database::{Database, Tx};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::RelayError;
use super::snapshot::Snapshot;

diesel::table! {
    outbox_cursor (singleton) {
        singleton -> Bool,
        epoch -> BigInt,
        snapshot_a -> Text,
        floor_a -> BigInt,
        next_xid_a -> BigInt,
        snapshot_b -> Nullable<Text>,
        floor_b -> BigInt,
        next_xid_b -> BigInt,
        last_id -> BigInt,
        restored_id -> BigInt,
        server -> Text,
        updated_at -> Timestamptz,
    }
}

/// All rows that are visible in snapshot A are published. Of the present window, which ends with snapshot B, the rows up to
/// `last_id` are published. Between two windows there is no snapshot B.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) a: Snapshot,
    pub(super) b: Option<Snapshot>,
    pub(super) last_id: i64,
    /// Rows up to this id came with a restored database. Their transaction numbers are those of another server.
    pub(super) restored_id: i64,
    /// The server that assigned the transaction numbers. Empty before the first term.
    pub(super) server: String,
}

impl Cursor {
    pub(super) async fn load(database: &Database) -> database::Result<Self> {
        use outbox_cursor as cursor;
        let columns = cursor::table.select((
            (cursor::snapshot_a, cursor::floor_a, cursor::next_xid_a),
            (cursor::snapshot_b, cursor::floor_b, cursor::next_xid_b),
            (cursor::last_id, cursor::restored_id, cursor::server),
        ));
        let ((text, floor_id, next_xid), b, (last_id, restored_id, server)): (_, (Option<String>, _, _), _) =
            columns.first(&mut database.connection().await?).await?;
        let a = Snapshot { text, floor_id, next_xid };
        let b = b.0.map(|text| Snapshot { text, floor_id: b.1, next_xid: b.2 });
        Ok(Self { a, b, last_id, restored_id, server })
    }

    /// Writes the cursor. Fails with `Replaced` if another relay has raised the epoch.
    pub(super) async fn write(&self, tx: &mut Tx, epoch: i64) -> Result<(), RelayError> {
        crashpoint::reach!("relay.before_checkpoint");
        let own = outbox_cursor::table.filter(outbox_cursor::epoch.eq(epoch));
        let b = self.b.as_ref();
        let written = diesel::update(own)
            .set((
                outbox_cursor::snapshot_a.eq(&self.a.text),
                outbox_cursor::floor_a.eq(self.a.floor_id),
                outbox_cursor::next_xid_a.eq(self.a.next_xid),
                outbox_cursor::snapshot_b.eq(b.map(|b| &b.text)),
                outbox_cursor::floor_b.eq(b.map_or(0, |b| b.floor_id)),
                outbox_cursor::next_xid_b.eq(b.map_or(0, |b| b.next_xid)),
                outbox_cursor::last_id.eq(self.last_id),
                outbox_cursor::server.eq(&self.server),
                outbox_cursor::updated_at.eq(clock_timestamp()),
            ))
            .execute(tx)
            .await?;
        if written == 1 { Ok(()) } else { Err(RelayError::Replaced) }
    }
}
