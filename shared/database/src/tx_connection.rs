//! Runs diesel queries on a [`Tx`], and marks the transaction as failed when a statement fails.
//!
//! Only diesel-async's core trait is implemented. The full trait would add `transaction()`, whose nested BEGIN commits
//! the outer transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use diesel::QueryResult;
use diesel::query_builder::{AsQuery, QueryFragment, QueryId};
use diesel_async::{AsyncConnectionCore, AsyncPgConnection, SimpleAsyncConnection};
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt, TryStreamExt};

use crate::Tx;

type PgRow = <AsyncPgConnection as AsyncConnectionCore>::Row<'static, 'static>;
type Rows = BoxStream<'static, QueryResult<PgRow>>;

fn track_rows(
    failed: Arc<AtomicBool>,
    load: BoxFuture<'_, QueryResult<Rows>>,
) -> BoxFuture<'_, QueryResult<Rows>> {
    async move {
        let rows = load.await.inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
        // INSERT … RETURNING reports a broken constraint with its first row.
        Ok(rows.inspect_err(move |_| failed.store(true, Ordering::Relaxed)).boxed())
    }
    .boxed()
}

fn track_count(
    failed: Arc<AtomicBool>,
    execute: BoxFuture<'_, QueryResult<usize>>,
) -> BoxFuture<'_, QueryResult<usize>> {
    async move { execute.await.inspect_err(|_| failed.store(true, Ordering::Relaxed)) }.boxed()
}

impl SimpleAsyncConnection for Tx {
    async fn batch_execute(&mut self, query: &str) -> QueryResult<()> {
        let failed = self.failed();
        let result = self.connection_mut().batch_execute(query).await;
        result.inspect_err(|_| failed.store(true, Ordering::Relaxed))
    }
}

impl AsyncConnectionCore for Tx {
    type LoadFuture<'conn, 'query> = BoxFuture<'conn, QueryResult<Rows>>;
    type ExecuteFuture<'conn, 'query> = BoxFuture<'conn, QueryResult<usize>>;
    type Stream<'conn, 'query> = Rows;
    type Row<'conn, 'query> = PgRow;
    type Backend = diesel::pg::Pg;

    fn load<'conn, 'query, T>(&'conn mut self, source: T) -> Self::LoadFuture<'conn, 'query>
    where
        T: AsQuery + 'query,
        T::Query: QueryFragment<Self::Backend> + QueryId + 'query,
    {
        track_rows(self.failed(), self.connection_mut().load(source))
    }

    fn execute_returning_count<'conn, 'query, T>(
        &'conn mut self,
        source: T,
    ) -> Self::ExecuteFuture<'conn, 'query>
    where
        T: QueryFragment<Self::Backend> + QueryId + 'query,
    {
        track_count(self.failed(), self.connection_mut().execute_returning_count(source))
    }
}

/// Statements on `&mut &tx` that are awaited together share one round trip.
impl SimpleAsyncConnection for &Tx {
    async fn batch_execute(&mut self, query: &str) -> QueryResult<()> {
        let failed = self.failed();
        let result = SimpleAsyncConnection::batch_execute(&mut self.connection(), query).await;
        result.inspect_err(|_| failed.store(true, Ordering::Relaxed))
    }
}

impl<'a> AsyncConnectionCore for &'a Tx {
    type LoadFuture<'conn, 'query> = BoxFuture<'a, QueryResult<Rows>>;
    type ExecuteFuture<'conn, 'query> = BoxFuture<'a, QueryResult<usize>>;
    type Stream<'conn, 'query> = Rows;
    type Row<'conn, 'query> = PgRow;
    type Backend = diesel::pg::Pg;

    fn load<'conn, 'query, T>(&'conn mut self, source: T) -> Self::LoadFuture<'conn, 'query>
    where
        T: AsQuery + 'query,
        T::Query: QueryFragment<Self::Backend> + QueryId + 'query,
    {
        let tx: &'a Tx = self;
        track_rows(tx.failed(), AsyncConnectionCore::load(&mut tx.connection(), source))
    }

    fn execute_returning_count<'conn, 'query, T>(
        &'conn mut self,
        source: T,
    ) -> Self::ExecuteFuture<'conn, 'query>
    where
        T: QueryFragment<Self::Backend> + QueryId + 'query,
    {
        let tx: &'a Tx = self;
        track_count(tx.failed(), AsyncConnectionCore::execute_returning_count(&mut tx.connection(), source))
    }
}

/// The connection that an [`AppendTx`](crate::AppendTx) reads through. It owns a reference to the transaction, so that the
/// bounds of a query need no lifetime.
pub struct Reader(pub(crate) Arc<Tx>);

impl SimpleAsyncConnection for Reader {
    async fn batch_execute(&mut self, query: &str) -> QueryResult<()> {
        SimpleAsyncConnection::batch_execute(&mut &*self.0, query).await
    }
}

impl AsyncConnectionCore for Reader {
    type LoadFuture<'conn, 'query> = BoxFuture<'conn, QueryResult<Rows>>;
    type ExecuteFuture<'conn, 'query> = BoxFuture<'conn, QueryResult<usize>>;
    type Stream<'conn, 'query> = Rows;
    type Row<'conn, 'query> = PgRow;
    type Backend = diesel::pg::Pg;

    fn load<'conn, 'query, T>(&'conn mut self, source: T) -> Self::LoadFuture<'conn, 'query>
    where
        T: AsQuery + 'query,
        T::Query: QueryFragment<Self::Backend> + QueryId + 'query,
    {
        AsyncConnectionCore::load(&mut &*self.0, source)
    }

    fn execute_returning_count<'conn, 'query, T>(
        &'conn mut self,
        source: T,
    ) -> Self::ExecuteFuture<'conn, 'query>
    where
        T: QueryFragment<Self::Backend> + QueryId + 'query,
    {
        AsyncConnectionCore::execute_returning_count(&mut &*self.0, source)
    }
}
