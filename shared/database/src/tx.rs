//! `Tx`: one transaction. A function that takes `&mut Tx` is part of the unit of work; only the owner commits.
//!
//! `commit(self)` is the only way to keep the writes. Dropping an uncommitted `Tx` discards its connection, so that no
//! lock outlives it. After a statement failed, `commit` is refused unless a savepoint undid the error: PostgreSQL
//! answers COMMIT on an aborted transaction with success.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use diesel_async::pooled_connection::deadpool::Object;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use futures_util::TryFutureExt;
use futures_util::future::try_join;

use crate::append_tx::SharedTx;
use crate::buffer;
use crate::pending_writes::{HasPendingWrites, PendingWrites};
use crate::{Database, Error, Result};

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// A transaction with its buffered rows and hooks. Dropping it uncommitted rolls back and discards its connection.
#[must_use = "a transaction that is not committed is rolled back"]
pub struct Tx {
    /// `None` only after `commit` or `rollback` has returned the connection.
    connection: Option<Object<AsyncPgConnection>>,
    /// Set by every statement that failed; see `tx_connection`.
    failed: Arc<AtomicBool>,
    pending_writes: PendingWrites,
    /// How many savepoints were set so far; each is named by its number.
    savepoints: usize,
    /// The first buffered row that belongs to the innermost open savepoint.
    savepoint_rows_from: usize,
}

impl Tx {
    pub(crate) async fn begin(database: &Database) -> Result<Self> {
        let tx = Self::unopened(database).await?;
        (&tx).batch_execute(BEGIN).await?;
        Ok(tx)
    }

    pub(crate) async fn begin_reading<T>(
        database: &Database,
        read: impl AsyncFnOnce(&Self) -> Result<T>,
    ) -> Result<(Self, T)> {
        let tx = Self::unopened(database).await?;
        // `try_join` polls BEGIN first, so BEGIN is sent first. The caller gets the result only if BEGIN succeeded.
        let mut begin = &tx;
        let ((), result) = try_join(begin.batch_execute(BEGIN).err_into(), read(&tx)).await?;
        Ok((tx, result))
    }

    /// Creates the `Tx` before BEGIN is sent. If the caller is cancelled in between, the drop discards the connection
    /// instead of returning it to the pool with an open transaction.
    async fn unopened(database: &Database) -> Result<Self> {
        Ok(Self {
            connection: Some(database.connection().await?),
            failed: Arc::default(),
            pending_writes: PendingWrites::new(database.clone()),
            savepoints: 0,
            savepoint_rows_from: 0,
        })
    }

    /// Writes the buffered rows, commits, and runs the hooks.
    ///
    /// # Errors
    /// [`Error::CommitUnknown`] if the connection was lost during COMMIT. After any other error nothing is committed.
    pub async fn commit(mut self) -> Result<()> {
        self.savepoint_rows_from = 0;
        self.flush().await?;
        if self.is_poisoned() {
            return Err(Error::Poisoned);
        }
        self.control("COMMIT").await.map_err(|error| match error {
            // PostgreSQL refused the COMMIT (deferred constraint, serialization failure): nothing is committed.
            Error::Constraint { .. } | Error::Contention(_) => error,
            other => Error::CommitUnknown(other.to_string()),
        })?;
        drop(self.connection.take());
        for hook in self.pending_writes.hooks.drain(..) {
            hook();
        }
        Ok(())
    }

    /// Rolls back and returns the connection to the pool.
    pub async fn rollback(mut self) -> Result<()> {
        self.control("ROLLBACK").await?;
        drop(self.connection.take());
        Ok(())
    }

    /// Runs `work` behind a savepoint. An error of `work` undoes everything that `work` did (rows, buffered rows, hooks)
    /// and nothing before it. Savepoints nest.
    ///
    /// The savepoint is not released, because that would cost a round trip. COMMIT ends it.
    pub async fn savepoint<T, E, F>(&mut self, work: F) -> std::result::Result<T, E>
    where
        E: From<Error>,
        F: AsyncFnOnce(&mut Self) -> std::result::Result<T, E>,
    {
        if self.is_poisoned() {
            return Err(Error::Poisoned.into());
        }
        // Each savepoint has a name of its own. Otherwise, after a nested savepoint succeeded, an error of the outer
        // one would roll back to the nested one only.
        self.savepoints += 1;
        let name = format!("savepoint_{}", self.savepoints);
        self.control(&format!("SAVEPOINT {name}")).await?;
        let (rows, hooks) = (self.pending_writes.rows.len(), self.pending_writes.hooks.len());
        let outer_rows_from = std::mem::replace(&mut self.savepoint_rows_from, rows);

        let result = match work(self).await {
            Ok(_) if self.is_poisoned() => Err(Error::Poisoned.into()),
            result => result,
        };
        self.savepoint_rows_from = outer_rows_from;
        if result.is_err() {
            self.control(&format!("ROLLBACK TO SAVEPOINT {name}")).await?;
            self.failed.store(false, Ordering::Relaxed);
            self.pending_writes.rows.truncate(rows);
            self.pending_writes.hooks.truncate(hooks);
        }
        result
    }

    /// Writes the buffered rows now, by one statement; `commit` does the same. Inside a savepoint it writes only the
    /// rows that were buffered there. Otherwise, undoing the savepoint would lose older rows.
    pub async fn flush(&mut self) -> Result<()> {
        let rows = self.pending_writes.rows.split_off(self.savepoint_rows_from);
        if rows.is_empty() {
            return Ok(());
        }
        buffer::write(rows, self).await
    }

    /// Opens the transaction for several units of work at the same time.
    pub fn share(self) -> SharedTx {
        SharedTx::new(self)
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    pub(crate) fn failed(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.failed)
    }

    pub(crate) fn connection(&self) -> &AsyncPgConnection {
        match &self.connection {
            Some(connection) => connection,
            None => unreachable!("commit and rollback consume the Tx whose connection they return"),
        }
    }

    pub(crate) fn connection_mut(&mut self) -> &mut AsyncPgConnection {
        match &mut self.connection {
            Some(connection) => connection,
            None => unreachable!("commit and rollback consume the Tx whose connection they return"),
        }
    }

    async fn control(&mut self, statement: &str) -> Result<()> {
        let result = self.connection_mut().batch_execute(statement).await;
        if result.is_err() {
            self.failed.store(true, Ordering::Relaxed);
        }
        Ok(result?)
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
        // A connection that returns to the pool inside a transaction keeps its locks until its next use: on a quiet
        // service for ever (measured). So take it out of the pool and close it.
        if let Some(connection) = self.connection.take() {
            drop(Object::take(connection));
        }
    }
}
