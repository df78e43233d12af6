//! Makes a [`Tx`] usable by every diesel query, and lets it see each statement's error on the way.
//!
//! Only diesel-async's core trait is implemented: the full one would bring `transaction()`, and with it a second BEGIN.

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

fn noting_rows(
    failed: Arc<AtomicBool>,
    load: BoxFuture<'_, QueryResult<Rows>>,
) -> BoxFuture<'_, QueryResult<Rows>> {
    async move {
        let rows = load.await.inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
        // An INSERT … RETURNING that breaks a constraint fails here, with its first row.
        Ok(rows.inspect_err(move |_| failed.store(true, Ordering::Relaxed)).boxed())
    }
    .boxed()
}

fn noting_count(
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
        noting_rows(self.failed(), self.connection_mut().load(source))
    }

    fn execute_returning_count<'conn, 'query, T>(
        &'conn mut self,
        source: T,
    ) -> Self::ExecuteFuture<'conn, 'query>
    where
        T: QueryFragment<Self::Backend> + QueryId + 'query,
    {
        noting_count(self.failed(), self.connection_mut().execute_returning_count(source))
    }
}

/// Statements on `&mut &tx` that are awaited together travel together: one round trip for all of them.
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
        noting_rows(tx.failed(), AsyncConnectionCore::load(&mut tx.connection(), source))
    }

    fn execute_returning_count<'conn, 'query, T>(
        &'conn mut self,
        source: T,
    ) -> Self::ExecuteFuture<'conn, 'query>
    where
        T: QueryFragment<Self::Backend> + QueryId + 'query,
    {
        let tx: &'a Tx = self;
        noting_count(tx.failed(), AsyncConnectionCore::execute_returning_count(&mut tx.connection(), source))
    }
}

/// What a [`AppendTx`](crate::AppendTx) reads through. It owns its share of the transaction, so that a query's bounds need not
/// name a lifetime.
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
