//! `AppendTx`: one command's part of a transaction that several commands share. It reads rows and appends rows to a
//! buffer; it cannot write or lock. The owner of the [`SharedTx`] writes all buffers and commits.
//!
//! Because a part writes nothing itself, dropping it leaves nothing in the transaction, and the other parts continue.

use std::sync::Arc;

use diesel::associations::HasTable;
use diesel::pg::Pg;
use diesel::query_builder::SelectQuery;
use diesel::query_dsl::methods::BoxedDsl;
use diesel_async::RunQueryDsl;
use diesel_async::methods::LoadQuery;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::delegate::Reader;
use crate::pending_writes::{HasPendingWrites, PendingWrites};
use crate::{Error, Result, Tx};

/// One command's part of a shared transaction: it reads, and it appends rows through [`UnitOfWork`](crate::UnitOfWork).
///
/// Statements that several parts send at the same time share a round trip.
pub struct AppendTx {
    shared: Arc<Tx>,
    pending_writes: PendingWrites,
}

impl AppendTx {
    /// Reads rows by a `SELECT`. Other statements do not compile:
    ///
    /// ```
    /// # use database::{AppendTx, Result};
    /// # use diesel::prelude::*;
    /// # diesel::table! { item (id) { id -> BigInt, } }
    /// async fn read(tx: &AppendTx) -> Result<Vec<i64>> {
    ///     tx.read(item::table.select(item::id)).await
    /// }
    /// ```
    ///
    /// ```compile_fail,E0277
    /// # use database::{AppendTx, Result};
    /// # use diesel::prelude::*;
    /// # diesel::table! { item (id) { id -> BigInt, } }
    /// async fn write(tx: &AppendTx) -> Result<Vec<i64>> {
    ///     tx.read(diesel::insert_into(item::table).values(item::id.eq(1)).returning(item::id)).await
    /// }
    /// ```
    ///
    /// Nor does a `SELECT` that locks rows, because the lock would be held until the slowest command of the transaction ends:
    ///
    /// ```compile_fail,E0277
    /// # use database::{AppendTx, Result};
    /// # use diesel::prelude::*;
    /// # diesel::table! { item (id) { id -> BigInt, } }
    /// async fn lock(tx: &AppendTx) -> Result<Vec<i64>> {
    ///     tx.read(item::table.select(item::id).for_update()).await
    /// }
    /// ```
    ///
    /// Nor does the call of a function without a table, because functions can write and lock:
    ///
    /// ```compile_fail,E0277
    /// # use database::{AppendTx, Result};
    /// # use database::functions::pg_try_advisory_xact_lock;
    /// async fn call(tx: &AppendTx) -> Result<Vec<bool>> {
    ///     tx.read(diesel::select(pg_try_advisory_xact_lock(1))).await
    /// }
    /// ```
    /// The compiler does not look into a `SELECT` of a table: it may only call functions that neither write nor lock.
    ///
    /// # Errors
    /// The error of the statement. An error of PostgreSQL fails the shared transaction, with all its parts.
    // Diesel implements `BoxedDsl` for a `SELECT` without a locking clause, and `HasTable` for one of a table.
    // Boxed: with the query's type inside, the compiler cannot see that a handler's future is `Send`.
    pub fn read<'a, U, Q>(&self, query: Q) -> BoxFuture<'a, Result<Vec<U>>>
    where
        U: Send + 'a,
        Q: SelectQuery + HasTable + BoxedDsl<'a, Pg> + LoadQuery<'a, Reader, U> + Send + 'a,
    {
        let mut reader = Reader(Arc::clone(&self.shared));
        async move { Ok(RunQueryDsl::load(query, &mut reader).await?) }.boxed()
    }
}

impl HasPendingWrites for AppendTx {
    fn pending_writes(&self) -> &PendingWrites {
        &self.pending_writes
    }

    fn pending_writes_mut(&mut self) -> &mut PendingWrites {
        &mut self.pending_writes
    }
}

/// A transaction that several [`AppendTx`]s share. Dropping it rolls back, as dropping a [`Tx`] does.
#[must_use = "a transaction that is not committed is rolled back"]
pub struct SharedTx {
    tx: Arc<Tx>,
}

impl SharedTx {
    pub(crate) fn new(tx: Tx) -> Self {
        Self { tx: Arc::new(tx) }
    }

    /// Opens one more part, for the request with this trace context.
    pub fn append_tx(&self, traceparent: Option<String>) -> AppendTx {
        let mut pending_writes = PendingWrites::new(self.tx.pending_writes().database().clone());
        pending_writes.traceparent = traceparent;
        AppendTx { shared: Arc::clone(&self.tx), pending_writes }
    }

    /// Ends the sharing: returns the transaction with the pending writes of these parts, in this order. The writes of
    /// all other parts are dropped.
    ///
    /// # Errors
    /// [`Error::Poisoned`], with the transaction rolled back, if another part still exists.
    pub fn collect(self, parts: impl IntoIterator<Item = AppendTx>) -> Result<Tx> {
        let pending: Vec<PendingWrites> = parts.into_iter().map(|part| part.pending_writes).collect();
        let mut tx = Arc::into_inner(self.tx).ok_or(Error::Poisoned)?;
        for writes in pending {
            tx.pending_writes_mut().append(writes);
        }
        Ok(tx)
    }
}
