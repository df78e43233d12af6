//! The unit of work: who takes `&mut Tx` is part of it; who owns it ends it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use diesel_async::pooled_connection::deadpool::Object;
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use futures_util::TryFutureExt;
use futures_util::future::try_join;

use crate::buffer;
use crate::draft::SharedTx;
use crate::notes::{HasPendingWrites, PendingWrites};
use crate::{Database, Error, Result};

const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// A transaction that somebody owns. Dropped uncommitted, it discards its connection.
#[must_use = "a transaction that is not committed is undone"]
pub struct Tx {
    /// `None` only once `commit` or `rollback` has given it back.
    connection: Option<Object<AsyncPgConnection>>,
    /// Set by any statement that failed; see `tx_connection`.
    failed: Arc<AtomicBool>,
    notes: PendingWrites,
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
        // Polled first, so BEGIN is sent first. Nothing is given to the caller before it has succeeded.
        let mut begin = &tx;
        let ((), found) = try_join(begin.batch_execute(BEGIN).err_into(), read(&tx)).await?;
        Ok((tx, found))
    }

    /// Armed before BEGIN is sent: cancelled in between, the connection is discarded, not returned half open.
    async fn unopened(database: &Database) -> Result<Self> {
        Ok(Self {
            connection: Some(database.connection().await?),
            failed: Arc::default(),
            notes: PendingWrites::of(database.clone()),
        })
    }

    /// Writes what is buffered and commits. [`Error::CommitUnknown`] if the connection was lost in COMMIT;
    /// after any other error nothing was kept.
    pub async fn commit(mut self) -> Result<()> {
        self.flush().await?;
        if self.is_poisoned() {
            return Err(Error::Poisoned);
        }
        self.control("COMMIT").await.map_err(|error| match error {
            // A deferred constraint or a serialization failure is PostgreSQL's own clear no.
            Error::Constraint { .. } | Error::Contention(_) => error,
            other => Error::CommitUnknown(other.to_string()),
        })?;
        drop(self.connection.take());
        for hook in self.notes.hooks.drain(..) {
            hook();
        }
        Ok(())
    }

    /// Ends the transaction without keeping anything, and keeps the connection for others.
    pub async fn rollback(mut self) -> Result<()> {
        self.control("ROLLBACK").await?;
        drop(self.connection.take());
        Ok(())
    }

    /// Runs `work` so that its error undoes all it did here (rows, buffered rows and hooks) and nothing before it.
    pub async fn savepoint<T, E, F>(&mut self, work: F) -> std::result::Result<T, E>
    where
        E: From<Error>,
        F: AsyncFnOnce(&mut Self) -> std::result::Result<T, E>,
    {
        let mark = self.mark().await?;
        let done = work(self).await;
        match done {
            Ok(value) if !self.is_poisoned() => Ok(value),
            Ok(_) => {
                self.undo(mark).await?;
                Err(Error::Poisoned.into())
            }
            Err(error) => {
                self.undo(mark).await?;
                Err(error)
            }
        }
    }

    /// Sets a savepoint, for who cannot use the closure form. It is never released: that would cost a round trip,
    /// and COMMIT ends it as well.
    pub async fn mark(&mut self) -> Result<Mark> {
        if self.is_poisoned() {
            return Err(Error::Poisoned);
        }
        self.control("SAVEPOINT business").await?;
        Ok(Mark { pending: self.notes.pending.len(), hooks: self.notes.hooks.len() })
    }

    /// Takes back everything since the latest mark.
    pub async fn undo(&mut self, mark: Mark) -> Result<()> {
        self.control("ROLLBACK TO SAVEPOINT business").await?;
        self.failed.store(false, Ordering::Relaxed);
        self.notes.pending.truncate(mark.pending);
        self.notes.hooks.truncate(mark.hooks);
        Ok(())
    }

    /// Writes what is buffered now, by one statement. `commit` does it too.
    pub async fn flush(&mut self) -> Result<()> {
        if self.notes.pending.is_empty() {
            return Ok(());
        }
        let pending = std::mem::take(&mut self.notes.pending);
        buffer::write(pending, self).await
    }

    /// Opens the transaction for several units of work at once.
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
            None => unreachable!("commit and rollback consume the Tx that has given its connection back"),
        }
    }

    pub(crate) fn connection_mut(&mut self) -> &mut AsyncPgConnection {
        match &mut self.connection {
            Some(connection) => connection,
            None => unreachable!("commit and rollback consume the Tx that has given its connection back"),
        }
    }

    async fn control(&mut self, statement: &'static str) -> Result<()> {
        let result = self.connection_mut().batch_execute(statement).await;
        if result.is_err() {
            self.failed.store(true, Ordering::Relaxed);
        }
        Ok(result?)
    }
}

impl HasPendingWrites for Tx {
    fn notes(&self) -> &PendingWrites {
        &self.notes
    }

    fn notes_mut(&mut self) -> &mut PendingWrites {
        &mut self.notes
    }
}

/// A point that [`Tx::undo`] goes back to.
#[must_use]
#[derive(Debug)]
pub struct Mark {
    pending: usize,
    hooks: usize,
}

impl Drop for Tx {
    fn drop(&mut self) {
        // Returned to the pool in the middle of a transaction, it would keep its locks until somebody takes it out
        // again: on a quiet service, for ever (measured).
        if let Some(connection) = self.connection.take() {
            drop(Object::take(connection));
        }
    }
}
