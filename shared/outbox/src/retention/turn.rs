//! `Turn`: the advisory lock of the one instance whose retention is running.
//!
//! A session holds it outside of transactions: one of minutes would keep PostgreSQL from removing dead rows, and the session's timeout
//! would end it.

use database::functions::{hashtextextended, pg_try_advisory_lock};
use database::{Connection, Database, Result};
use diesel::select;
use diesel_async::RunQueryDsl;

/// Dropping it closes the connection, and PostgreSQL releases the lock.
pub(super) struct Turn(Connection);

impl Turn {
    /// Takes the turn; `None` if another instance has it.
    pub(super) async fn take(database: &Database) -> Result<Option<Self>> {
        let turn = Self(database.connection().await?);
        let taken = select(pg_try_advisory_lock(hashtextextended("outbox_retention", 0)));
        let taken: bool = taken.get_result(&mut &turn.0).await?;
        Ok(taken.then_some(turn))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // In the pool, the connection would keep the lock for ever.
        self.0.discard();
    }
}
