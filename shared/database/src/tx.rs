//! `Tx`: one transaction. A function that takes `&mut Tx` is part of the unit of work; only the owner commits.
//!
//! `commit(self)` is the only way to keep the writes. Dropping an uncommitted `Tx` discards its connection, so that no
//! lock outlives it. In a session that the caller keeps, the next transaction rolls the dropped one back first.
//!
//! After a statement failed, `commit` is refused unless a savepoint undid the error: PostgreSQL answers COMMIT on an aborted
//! transaction with success.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use diesel::select;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use futures_util::TryFutureExt;
use futures_util::future::try_join;

use crate::aggregate::Aggregates;
use crate::append_tx::SharedTx;
use crate::buffer;
use crate::commit::Commit;
use crate::functions::{clock_timestamp, set_config};
use crate::pending_writes::{HasPendingWrites, PendingWrites};
use crate::{Connection, Database, Error, Result};

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// A transaction with its aggregates, buffered rows and hooks. Dropping it uncommitted rolls back and discards its connection.
#[must_use = "a transaction that is not committed is rolled back"]
pub struct Tx {
    connection: Connection,
    has_ended: bool,
    pending_writes: PendingWrites,
    aggregates: Mutex<Aggregates>,
    savepoints: usize,
}

impl Tx {
    pub(crate) async fn begin(database: &Database) -> Result<Self> {
        Self::begin_on(database.connection().await?, database).await
    }

    pub(crate) async fn begin_on(connection: Connection, database: &Database) -> Result<Self> {
        // A transaction that was dropped in this session may be open. PostgreSQL takes BEGIN in it for a warning.
        let may_be_open = !connection.is_usable();
        let tx = Self::unopened(connection, database);
        if may_be_open {
            (&tx).batch_execute("ROLLBACK").await?;
        }
        (&tx).batch_execute(BEGIN).await?;
        Ok(tx)
    }

    pub(crate) async fn begin_reading<T, E: From<Error>>(
        database: &Database,
        read: impl AsyncFnOnce(&Self) -> std::result::Result<T, E>,
    ) -> std::result::Result<(Self, T), E> {
        let tx = Self::unopened(database.connection().await?, database);
        // `try_join` polls BEGIN first, so BEGIN is sent first. The caller gets the result only if BEGIN succeeded.
        let mut begin = &tx;
        let ((), result) =
            try_join(begin.batch_execute(BEGIN).map_err(|error| Error::from(error).into()), read(&tx))
                .await?;
        Ok((tx, result))
    }

    /// Creates the `Tx` before BEGIN is sent. A caller who is cancelled in between then leaves no open transaction in the pool.
    fn unopened(connection: Connection, database: &Database) -> Self {
        Self {
            connection,
            has_ended: false,
            pending_writes: PendingWrites::new(database.clone()),
            aggregates: Mutex::default(),
            savepoints: 0,
        }
    }

    /// Writes the buffered rows and commits, in one round trip, and runs the hooks.
    ///
    /// # Errors
    /// [`Error::CommitUnknown`] if the connection was lost after COMMIT was sent, or no answer came in time. After any other error nothing is committed.
    pub async fn commit(mut self) -> Result<()> {
        if self.is_poisoned() {
            if self.connection.is_usable() {
                self.rollback().await.ok(); // a dropped transaction keeps its locks for a moment
            }
            return Err(Error::Poisoned);
        }
        let rows = std::mem::take(&mut self.pending_writes.rows);
        // `try_join` polls the write first. COMMIT is sent behind it at once, or not at all if the write could not be sent.
        let both = try_join(buffer::write(rows, &self), Commit.execute(&mut &self).err_into()).await;
        if let Err(error) = both {
            // PostgreSQL takes COMMIT for ROLLBACK after a failed write. Without an answer to ROLLBACK, the outcome is unknown.
            let undone = self.connection.is_usable() && self.rollback().await.is_ok();
            return Err(if undone { error } else { Error::CommitUnknown(error.to_string()) });
        }
        self.has_ended = true;
        let hooks = std::mem::take(&mut self.pending_writes.hooks);
        drop(self);
        for hook in hooks {
            hook();
        }
        Ok(())
    }

    /// Rolls back and returns the connection to the pool.
    ///
    /// # Errors
    /// The error of ROLLBACK. The connection is then closed, which rolls back, too.
    pub async fn rollback(mut self) -> Result<()> {
        self.control("ROLLBACK").await?;
        self.has_ended = true;
        Ok(())
    }

    /// Runs `work` behind a savepoint. An error of `work` undoes everything that `work` did (rows, buffered rows, changes of
    /// aggregates, hooks) and nothing before it. Savepoints nest.
    ///
    /// Rows that were buffered before are written before. COMMIT ends the savepoint: to release it would cost a round trip.
    ///
    /// # Errors
    /// The error of `work` or of the statements around it; [`Error::Poisoned`] after a failed statement, also one that `work` ignored.
    pub async fn savepoint<T, E, F>(&mut self, work: F) -> std::result::Result<T, E>
    where
        E: From<Error>,
        F: AsyncFnOnce(&mut Self) -> std::result::Result<T, E>,
    {
        if self.is_poisoned() {
            return Err(Error::Poisoned.into());
        }
        self.flush().await?;
        // A name of its own. Otherwise an error would only roll back to a nested savepoint that had succeeded.
        self.savepoints += 1;
        let name = format!("savepoint_{}", self.savepoints);
        self.control(&format!("SAVEPOINT {name}")).await?;
        let hooks = self.pending_writes.hooks.len();

        let result = match work(self).await {
            Ok(_) if self.is_poisoned() => Err(Error::Poisoned.into()),
            result => result,
        };
        if result.is_err() {
            self.control(&format!("ROLLBACK TO SAVEPOINT {name}")).await?;
            self.connection.forget_failure();
            self.aggregates().forget(); // `flush` has written the changes from before, and their locks remain
            self.pending_writes.rows.clear();
            self.pending_writes.hooks.truncate(hooks);
        }
        result
    }

    /// Writes the buffered rows and the changed aggregates now, by one statement; `commit` does the same.
    ///
    /// # Errors
    /// The error of the statement, such as [`Error::Constraint`]. Unless a savepoint undoes it, `commit` is refused.
    pub async fn flush(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.pending_writes.rows);
        buffer::write(rows, self).await
    }

    /// Lets each further statement of this transaction take this long, instead of the session's `statement_timeout`.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub async fn set_statement_timeout(&mut self, limit: Duration) -> Result<()> {
        let milliseconds = limit.as_millis().to_string();
        select(set_config("statement_timeout", milliseconds, true)).execute(self).await?;
        self.connection.set_statement_timeout(limit);
        Ok(())
    }

    /// The database's time when this was first asked for in this transaction.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub async fn now(&mut self) -> Result<DateTime<Utc>> {
        if let Some(now) = *self.aggregates().now() {
            return Ok(now);
        }
        let now = select(clock_timestamp()).get_result(self).await?;
        *self.aggregates().now() = Some(now);
        Ok(now)
    }

    /// Opens the transaction for several units of work at the same time.
    pub fn share(self) -> SharedTx {
        SharedTx::new(self)
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.connection.has_failed()
    }

    /// A poisoned lock is safe to use: each change is complete.
    pub(crate) fn aggregates(&self) -> MutexGuard<'_, Aggregates> {
        self.aggregates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    async fn control(&mut self, statement: &str) -> Result<()> {
        Ok(self.batch_execute(statement).await?)
    }
}

impl HasPendingWrites for Tx {
    fn pending_writes(&self) -> &PendingWrites {
        &self.pending_writes
    }

    fn pending_writes_mut(&mut self) -> &mut PendingWrites {
        &mut self.pending_writes
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        // A pooled connection inside a transaction keeps its locks until its next use: on a quiet service for ever (measured).
        if !self.has_ended {
            self.connection.discard();
        }
    }
}
