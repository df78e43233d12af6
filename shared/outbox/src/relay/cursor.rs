//! The cursor: how far the outbox is published.
//!
//! The active relay keeps it in memory and writes it a few times a second. The epoch fences the row: a relay that was replaced
//! cannot write it.
//!
//! What goes wrong without the epoch: a relay is paused past its lease, another one publishes a thousand rows, and the first one
//! wakes up and writes its old cursor, or a newer one over rows that the second one is still sending. The next term skips these.

use database::functions::clock_timestamp;
use database::{Connection, Tx};
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel::{define_sql_function, select};
use diesel_async::RunQueryDsl;

use super::RelayError;
use super::gaps::Ranges;
use super::log_reader::LogReader;

diesel::table! {
    outbox_cursor (singleton) {
        singleton -> Bool,
        epoch -> BigInt,
        position -> BigInt,
        gaps -> Multirange<BigInt>,
        server -> Text,
        restored_at -> Nullable<Timestamptz>,
        updated_at -> Timestamptz,
    }
}

define_sql_function! {
    /// Sets the cursor of this epoch before the first row if ids are given again. Returns the greatest id then.
    fn outbox_start_over(relay_epoch: BigInt) -> Nullable<BigInt>;
}

/// Every committed row with an id up to the position is published or blocked, unless its id is among the gaps. Here the gaps contain
/// the rows that are under way, too.
#[derive(Debug)]
pub(super) struct Cursor {
    pub(super) position: i64,
    pub(super) gaps: Ranges,
}

impl Cursor {
    /// Loads the cursor as the state of a reader, which looks for the rows of its gaps again.
    pub(super) async fn load(session: &Connection, epoch: i64) -> database::Result<LogReader> {
        let mut session = session;
        let restarted: Option<i64> = select(outbox_start_over(epoch)).get_result(&mut session).await?;
        if let Some(up_to) = restarted {
            tracing::warn!(
                up_to,
                "OutboxStartedOver: the ids of the outbox went back; the relay publishes every row again, and consumers ignore \
                 duplicates"
            );
        }
        let columns = outbox_cursor::table.select((outbox_cursor::position, outbox_cursor::gaps));
        let (position, gaps): (i64, Ranges) = columns.first(&mut session).await?;
        Ok(LogReader::new(position, gaps.into()))
    }

    /// Writes the cursor. Fails with `Replaced` if another relay has raised the epoch.
    pub(super) async fn write(&self, tx: &mut Tx, epoch: i64) -> Result<(), RelayError> {
        crashpoint::reach!("relay.before_checkpoint");
        let own = outbox_cursor::table.filter(outbox_cursor::epoch.eq(epoch));
        let written = diesel::update(own)
            .set((
                outbox_cursor::position.eq(self.position),
                outbox_cursor::gaps.eq(&self.gaps),
                outbox_cursor::updated_at.eq(clock_timestamp()),
            ))
            .execute(tx)
            .await?;
        if written == 1 { Ok(()) } else { Err(RelayError::Replaced) }
    }
}
