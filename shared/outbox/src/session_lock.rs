//! `SessionLock`: an advisory lock that a session holds outside of transactions, for work that takes minutes.
//!
//! A transaction of minutes would keep PostgreSQL from removing dead rows, and the session's timeout would end it.

use database::{Connection, Database, Result};
use diesel::sql_types::{BigInt, Text};
use diesel::{define_sql_function, select};
use diesel_async::RunQueryDsl;

define_sql_function! {
    /// The number of an advisory lock.
    fn hashtextextended(name: Text, seed: BigInt) -> BigInt;
}

define_sql_function! {
    /// Waits for the lock, which several sessions can share, and keeps it until the session ends.
    fn pg_advisory_lock_shared(number: BigInt) -> Nullable<Text>;
}

define_sql_function! {
    /// Takes the lock until the session ends; returns false at once if another session holds it.
    fn pg_try_advisory_lock(number: BigInt) -> Bool;
}

/// Commands that read rows of the outbox for longer than a statement share this lock. Retention drops no row meanwhile.
const ROWS: &str = "outbox_rows";

/// The lock of the one instance whose retention is running.
const RETENTION: &str = "outbox_retention";

/// A lock of a session. Dropping it closes the connection, and PostgreSQL releases the lock.
pub(crate) struct SessionLock(Connection);

impl SessionLock {
    /// Keeps retention from dropping rows, together with other readers.
    pub(crate) async fn keep_rows(database: &Database) -> Result<Self> {
        let lock = Self(database.connection().await?);
        let taken = select(pg_advisory_lock_shared(hashtextextended(ROWS, 0)));
        taken.execute(&mut &lock.0).await?;
        Ok(lock)
    }

    /// Takes the turn of retention; `None` if another instance has it.
    pub(crate) async fn take_retention(database: &Database) -> Result<Option<Self>> {
        let lock = Self(database.connection().await?);
        let taken = select(pg_try_advisory_lock(hashtextextended(RETENTION, 0)));
        let taken: bool = taken.get_result(&mut &lock.0).await?;
        Ok(taken.then_some(lock))
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        // In the pool, the connection would keep the lock for ever.
        self.0.discard();
    }
}
