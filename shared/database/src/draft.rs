//! A unit of work that shares its transaction: it reads and notes, and somebody else writes for all.

use std::sync::Arc;

use diesel::query_builder::SelectQuery;
use diesel_async::RunQueryDsl;
use diesel_async::methods::LoadQuery;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::notes::{HasPendingWrites, PendingWrites};
use crate::tx_connection::Reader;
use crate::{Error, Result, Tx};

/// One command's part of a shared transaction.
///
/// It can read and it can note rows, but it cannot write by itself. So a part that is dropped has left nothing behind,
/// and the others need not be undone with it. What it reads is read together with what the others read: statements
/// that are under way at the same time share round trips.
pub struct AppendTx {
    shared: Arc<Tx>,
    notes: PendingWrites,
}

impl AppendTx {
    /// Reads rows, by a `SELECT` and nothing else:
    ///
    /// ```
    /// # use database::{AppendTx, Result};
    /// # use diesel::prelude::*;
    /// # diesel::table! { note (id) { id -> BigInt, } }
    /// async fn read(draft: &AppendTx) -> Result<Vec<i64>> {
    ///     draft.read(note::table.select(note::id)).await
    /// }
    /// ```
    ///
    /// ```compile_fail,E0277
    /// # use database::{AppendTx, Result};
    /// # use diesel::prelude::*;
    /// # diesel::table! { note (id) { id -> BigInt, } }
    /// async fn write(draft: &AppendTx) -> Result<Vec<i64>> {
    ///     draft.read(diesel::insert_into(note::table).values(note::id.eq(1)).returning(note::id)).await
    /// }
    /// ```
    ///
    /// Do not lock them: they would stay locked until all that share the transaction are done.
    // Boxed: with the query's type inside, a handler's future is not known to be `Send`.
    pub fn read<'a, U, Q>(&self, query: Q) -> BoxFuture<'a, Result<Vec<U>>>
    where
        U: Send + 'a,
        Q: SelectQuery + LoadQuery<'a, Reader, U> + Send + 'a,
    {
        let mut reader = Reader(Arc::clone(&self.shared));
        async move { Ok(RunQueryDsl::load(query, &mut reader).await?) }.boxed()
    }
}

impl HasPendingWrites for AppendTx {
    fn notes(&self) -> &PendingWrites {
        &self.notes
    }

    fn notes_mut(&mut self) -> &mut PendingWrites {
        &mut self.notes
    }
}

/// A transaction that is open for drafts. Dropped, it is undone as a [`Tx`] is.
#[must_use = "a transaction that is not committed is undone"]
pub struct SharedTx {
    tx: Arc<Tx>,
}

impl SharedTx {
    pub(crate) fn new(tx: Tx) -> Self {
        Self { tx: Arc::new(tx) }
    }

    /// One more part, for the request with this trace context.
    pub fn draft(&self, traceparent: Option<String>) -> AppendTx {
        let mut notes = PendingWrites::of(self.tx.notes().database().clone());
        notes.traceparent = traceparent;
        AppendTx { shared: Arc::clone(&self.tx), notes }
    }

    /// Ends the sharing: these drafts are kept with the transaction, in this order, and no other.
    ///
    /// # Errors
    /// [`Error::Poisoned`], with the transaction undone, if a draft is still in use elsewhere.
    pub fn gather(self, drafts: impl IntoIterator<Item = AppendTx>) -> Result<Tx> {
        let notes: Vec<PendingWrites> = drafts.into_iter().map(|draft| draft.notes).collect();
        let mut tx = Arc::into_inner(self.tx).ok_or(Error::Poisoned)?;
        for notes in notes {
            tx.notes_mut().append(notes);
        }
        Ok(tx)
    }
}
