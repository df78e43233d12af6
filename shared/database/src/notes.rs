//! What a unit of work notes for its end: rows to write, and what to do once they are kept.

use crate::buffer::{Buffered, Pending};
use crate::{Database, WakeUp};

/// What happens once the commit has succeeded.
pub(crate) type Hook = Box<dyn FnOnce() + Send + Sync>;

/// All that was noted. Nobody outside this crate can have one.
pub struct PendingWrites {
    database: Database,
    pub(crate) pending: Vec<Pending>,
    pub(crate) hooks: Vec<Hook>,
    pub(crate) traceparent: Option<String>,
}

impl PendingWrites {
    pub(crate) fn of(database: Database) -> Self {
        Self { database, pending: Vec::new(), hooks: Vec::new(), traceparent: None }
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// Adds what somebody else has noted for the same transaction.
    pub(crate) fn append(&mut self, mut others: Self) {
        self.pending.append(&mut others.pending);
        self.hooks.append(&mut others.hooks);
    }
}

/// Who has notes. It is implemented here alone.
pub trait HasPendingWrites {
    /// What was noted so far.
    fn notes(&self) -> &PendingWrites;
    /// To note more.
    fn notes_mut(&mut self) -> &mut PendingWrites;
}

/// A unit of work: all that is noted in it is kept together, or nothing is.
///
/// [`Tx`](crate::Tx) is one that has a transaction of its own, [`AppendTx`](crate::AppendTx) one that shares a transaction with
/// others. A function that takes `&mut impl UnitOfWork` serves both.
pub trait UnitOfWork: HasPendingWrites {
    /// Keeps a row until the end of the transaction. Check it before: here is too late to refuse it.
    fn buffer<R: Buffered>(&mut self, row: R) {
        self.notes_mut().pending.push(Pending::new(row));
    }

    /// Runs `hook` once the commit has succeeded, and never otherwise.
    fn after_commit(&mut self, hook: impl FnOnce() + Send + Sync + 'static) {
        self.notes_mut().hooks.push(Box::new(hook));
    }

    /// Wakes whoever waits for `signal` in this process, once the commit has succeeded.
    fn wake_after_commit(&mut self, signal: WakeUp) {
        let notify = self.notes().database().signal(signal);
        self.after_commit(move || notify.notify_one());
    }

    /// The trace context of the request or message that this unit of work serves (W3C traceparent).
    fn traceparent(&self) -> Option<&str> {
        self.notes().traceparent.as_deref()
    }

    /// Says which request or message is served from here on.
    fn set_traceparent(&mut self, traceparent: Option<String>) {
        self.notes_mut().traceparent = traceparent;
    }
}

impl<T: HasPendingWrites> UnitOfWork for T {}
