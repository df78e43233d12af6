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
        updated_at -> Timestamptz,
    }
}

define_sql_function! {
    /// Sets the cursor of this epoch before the first row if the database was restored or promoted, or gives ids again. Returns the
    /// reason then.
    fn outbox_begin_term(relay_epoch: BigInt) -> Nullable<Text>;
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
        let reason: Option<String> = select(outbox_begin_term(epoch)).get_result(&mut session).await?;
        if let Some(reason) = reason {
            tracing::warn!(
                reason,
                "OutboxStartedOver: the relay publishes every row again, and consumers ignore duplicates"
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

#[cfg(test)]
mod tests {
    use testkit::TestDatabase;

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_relay_that_was_replaced_does_not_set_the_cursor_back() {
        let database = TestDatabase::plain().await;
        let of_the_dump = (
            outbox_cursor::server.eq("1234567890/00000001/5"),
            outbox_cursor::position.eq(7),
            outbox_cursor::epoch.eq(2),
        );
        diesel::update(outbox_cursor::table)
            .set(of_the_dump)
            .execute(&mut database.owner().await)
            .await
            .unwrap();
        let session = database.connection().await.unwrap();
        for (epoch, expected) in [(1, 7), (2, 0)] {
            assert_eq!(Cursor::load(&session, epoch).await.unwrap().position(), expected, "epoch {epoch}");
        }
    }
}
