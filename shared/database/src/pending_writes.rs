//! The pending writes of a unit of work: rows to write before COMMIT, and hooks to run after it.

use crate::buffer::{Buffered, BufferedRow};
use crate::{Database, WakeUp};

/// A function that runs after the commit succeeded.
pub(crate) type Hook = Box<dyn FnOnce() + Send + Sync>;

/// The rows and hooks of one unit of work. Only this crate creates it.
pub struct PendingWrites {
    database: Database,
    pub(crate) rows: Vec<BufferedRow>,
    pub(crate) hooks: Vec<Hook>,
    pub(crate) traceparent: Option<String>,
}

impl PendingWrites {
    pub(crate) fn new(database: Database) -> Self {
        Self { database, rows: Vec::new(), hooks: Vec::new(), traceparent: None }
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// Adds the rows and hooks of another unit of work of the same transaction.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.rows.append(&mut other.rows);
        self.hooks.append(&mut other.hooks);
    }
}

/// Access to the pending writes. Only this crate implements it, so [`UnitOfWork`] is sealed.
pub trait HasPendingWrites {
    /// The rows and hooks so far.
    fn pending_writes(&self) -> &PendingWrites;
    /// The rows and hooks so far, to add to them.
    fn pending_writes_mut(&mut self) -> &mut PendingWrites;
}

/// A unit of work: all its rows are committed together, or none.
///
/// [`Tx`](crate::Tx) is a unit of work with a transaction of its own. [`AppendTx`](crate::AppendTx) is one that shares a
/// transaction. A function that takes `&mut impl UnitOfWork` serves both.
pub trait UnitOfWork: HasPendingWrites {
    /// Buffers a row; the transaction writes it before COMMIT. Validate the row first, because an error at COMMIT
    /// rolls back the whole transaction.
    fn buffer<R: Buffered>(&mut self, row: R) {
        self.pending_writes_mut().rows.push(BufferedRow::new(row));
    }

    /// Runs `hook` after the commit succeeded. After a rollback, or if the outcome of COMMIT is unknown, it does not run.
    fn after_commit(&mut self, hook: impl FnOnce() + Send + Sync + 'static) {
        self.pending_writes_mut().hooks.push(Box::new(hook));
    }

    /// Notifies the task of this process that waits for this wake-up, after the commit succeeded.
    fn wake_after_commit(&mut self, wake_up: WakeUp) {
        let notify = self.pending_writes().database().wake_up(wake_up);
        self.after_commit(move || notify.notify_one());
    }

    /// Counts an event in metrics of this database, after the commit succeeded.
    fn count_after_commit<M: Default + Send + Sync + 'static>(
        &mut self,
        count: impl FnOnce(&M) + Send + Sync + 'static,
    ) {
        let database = self.pending_writes().database().clone();
        self.after_commit(move || count(database.metrics()));
    }

    /// The state of another crate about this database, as [`Database::attached`] returns it.
    fn attached<T: Default + Send + Sync + 'static>(&self) -> &T {
        self.pending_writes().database().attached()
    }

    /// The trace context (W3C traceparent) of what this unit of work causes: that of the current span if spans are exported,
    /// otherwise that of the request or message that it serves.
    fn traceparent(&self) -> Option<String> {
        traces::current().or_else(|| self.pending_writes().traceparent.clone())
    }

    /// Sets the trace context of the request or message that is served from now on.
    fn set_traceparent(&mut self, traceparent: Option<String>) {
        self.pending_writes_mut().traceparent = traceparent;
    }
}

impl<T: HasPendingWrites> UnitOfWork for T {}
