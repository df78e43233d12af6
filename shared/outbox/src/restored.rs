//! Whether the database is an earlier one: restored from a backup, or promoted.
//!
//! Its rows do not show the work between the backup and the restore, for instance requests to other systems.

use std::ops::Bound;

use chrono::{DateTime, Utc};
use database::functions::clock_timestamp;
use database::{Connection, Tx};
use diesel::prelude::*;
use diesel::sql_types::Timestamptz;
use diesel::{define_sql_function, select};
use diesel_async::RunQueryDsl;

use crate::relay::outbox_cursor;

define_sql_function! {
    /// The server and the database: what a dump does not restore, and what a promotion changes.
    fn outbox_server() -> Text;
}

define_sql_function! {
    /// The cursor names another server, or was found to do so after this time.
    fn outbox_restored_since(since: Timestamptz) -> Bool;
}

/// Returns whether the database was restored or promoted after `time`.
///
/// A standby that lags is promoted with its last rows missing, and is seen by its new timeline. A dump is seen by the server or the
/// database that it was restored into.
///
/// # Errors
/// Database errors.
pub async fn is_restored_since(tx: &mut Tx, time: DateTime<Utc>) -> database::Result<bool> {
    Ok(select(outbox_restored_since(time)).get_result(tx).await?)
}

/// Notes the present server in the cursor's row. If there was another one, notes the time, and lets the relay publish every row again:
/// consumers that were restored, too, or topics that were lost may need any of them.
/// Changes nothing if another relay has raised the epoch: the cursor is that relay's.
pub(crate) async fn note_server(session: &Connection, epoch: i64) -> database::Result<()> {
    let mut session = session;
    let servers = outbox_cursor::table.select((outbox_cursor::server, outbox_server()));
    let (before, server): (String, String) = servers.first(&mut session).await?;
    if before == server {
        return Ok(());
    }
    let own = outbox_cursor::table.filter(outbox_cursor::epoch.eq(epoch));
    let cursor = diesel::update(own);
    if before.is_empty() {
        cursor.set(outbox_cursor::server.eq(&server)).execute(&mut session).await?;
        return Ok(());
    }
    let restored = (
        outbox_cursor::server.eq(&server),
        outbox_cursor::restored_at.eq(clock_timestamp().nullable()),
        outbox_cursor::position.eq(0),
        outbox_cursor::gaps.eq(Vec::<(Bound<i64>, Bound<i64>)>::new()),
    );
    if cursor.set(restored).execute(&mut session).await? == 0 {
        return Ok(());
    }
    tracing::warn!(
        before,
        server,
        "OutboxStartedOver: the database was restored or promoted; the relay publishes every row again, and consumers ignore \
         duplicates"
    );
    Ok(())
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
            note_server(&session, epoch).await.unwrap();
            let position = outbox_cursor::table.select(outbox_cursor::position);
            assert_eq!(position.first::<i64>(&mut &session).await.unwrap(), expected, "epoch {epoch}");
        }
    }
}
