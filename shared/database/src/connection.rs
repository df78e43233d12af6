//! `Connection`: a connection of the pool whose statements have a deadline on this side of the network.
//!
//! PostgreSQL's own timeouts do not fire on a frozen server, nor while COMMIT waits for a disk or a synchronous standby.
//! So the client stops waiting a few seconds after `statement_timeout`. The answer may then be on its way, so the
//! connection is closed instead of returned to the pool.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use diesel::QueryResult;
use diesel::query_builder::{AsQuery, QueryFragment, QueryId};
use diesel::result::{DatabaseErrorKind, Error};
use diesel_async::pooled_connection::deadpool::Object;
use diesel_async::{AsyncConnectionCore, AsyncPgConnection, SimpleAsyncConnection};
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use futures_util::{FutureExt, StreamExt, stream};
use tokio::time::{Instant, timeout_at};

use crate::error::STALE_PLAN;

/// How much longer than PostgreSQL's own limit the client waits for an answer.
const GRACE: Duration = Duration::from_secs(3);

pub(crate) type PgRow = <AsyncPgConnection as AsyncConnectionCore>::Row<'static, 'static>;
pub(crate) type PgRows = BoxStream<'static, QueryResult<PgRow>>;

/// A connection of the pool. Used directly, it is outside any transaction, for reads of one statement. Dropping it
/// returns it to the pool.
pub struct Connection {
    pooled: Arc<Pooled>,
    statement_timeout: Duration,
    state: Arc<State>,
}

/// A connection that returns to the pool once nothing uses it, unless it is unusable.
struct Pooled {
    /// `None` only while it is dropped.
    connection: Option<Object<AsyncPgConnection>>,
    state: Arc<State>,
}

/// Facts about a connection that its statements have found.
#[derive(Default)]
struct State {
    has_failed: AtomicBool,
    is_unusable: AtomicBool,
}

impl Connection {
    pub(crate) fn new(pooled: Object<AsyncPgConnection>, statement_timeout: Duration) -> Self {
        let state = Arc::default();
        let pooled = Pooled { connection: Some(pooled), state: Arc::clone(&state) };
        Self { pooled: Arc::new(pooled), statement_timeout, state }
    }

    /// Returns the same connection, for a transaction of its session.
    pub(crate) fn share(&self) -> Self {
        let Self { pooled, statement_timeout, state } = self;
        Self { pooled: Arc::clone(pooled), statement_timeout: *statement_timeout, state: Arc::clone(state) }
    }

    /// Reports whether a statement failed since [`forget_failure`](Self::forget_failure).
    pub(crate) fn has_failed(&self) -> bool {
        self.state.has_failed.load(Ordering::Relaxed)
    }

    pub(crate) fn forget_failure(&self) {
        self.state.has_failed.store(false, Ordering::Relaxed);
    }

    /// Closes the connection when it is dropped. A session that holds a lock of its own must not return to the pool.
    pub fn discard(&self) {
        self.state.is_unusable.store(true, Ordering::Relaxed);
    }

    /// Reports whether the session may still answer.
    pub(crate) fn is_usable(&self) -> bool {
        !self.state.is_unusable.load(Ordering::Relaxed)
    }

    /// Follows a change of the session's `statement_timeout`.
    pub(crate) fn set_statement_timeout(&mut self, limit: Duration) {
        self.statement_timeout = limit;
    }

    pub(crate) fn connection(&self) -> &Self {
        self
    }

    fn pooled(&self) -> &AsyncPgConnection {
        match &self.pooled.connection {
            Some(connection) => connection,
            None => unreachable!("only drop takes the connection"),
        }
    }

    fn deadline(&self) -> Instant {
        Instant::now() + self.statement_timeout + GRACE
    }
}

impl State {
    /// Waits for the answer until the deadline. Notes every failure.
    async fn answer<T>(
        &self,
        deadline: Instant,
        statement: impl Future<Output = QueryResult<T>>,
    ) -> QueryResult<T> {
        let result = timeout_at(deadline, statement).await.unwrap_or_else(|_| {
            self.is_unusable.store(true, Ordering::Relaxed);
            let why = "PostgreSQL did not answer in time".to_owned();
            Err(Error::DatabaseError(DatabaseErrorKind::ClosedConnection, Box::new(why)))
        });
        result.inspect_err(|error| {
            self.has_failed.store(true, Ordering::Relaxed);
            let is_stale =
                matches!(error, Error::DatabaseError(_, info) if info.message().contains(STALE_PLAN));
            self.is_unusable.fetch_or(is_stale, Ordering::Relaxed);
        })
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take()
            && self.state.is_unusable.load(Ordering::Relaxed)
        {
            drop(Object::take(connection));
        }
    }
}

/// Statements on `&mut &connection` that are awaited together share one round trip.
impl SimpleAsyncConnection for &Connection {
    async fn batch_execute(&mut self, query: &str) -> QueryResult<()> {
        let mut pooled = self.pooled();
        // Boxed, because the futures of all callers contain this one.
        let execute = SimpleAsyncConnection::batch_execute(&mut pooled, query).boxed();
        self.state.answer(self.deadline(), execute).await
    }
}

// Only diesel-async's core trait is implemented. The full trait would add `transaction()`, whose nested BEGIN commits the
// outer transaction.
impl<'a> AsyncConnectionCore for &'a Connection {
    type LoadFuture<'conn, 'query> = BoxFuture<'a, QueryResult<PgRows>>;
    type ExecuteFuture<'conn, 'query> = BoxFuture<'a, QueryResult<usize>>;
    type Stream<'conn, 'query> = PgRows;
    type Row<'conn, 'query> = PgRow;
    type Backend = diesel::pg::Pg;

    fn load<'conn, 'query, T>(&'conn mut self, source: T) -> Self::LoadFuture<'conn, 'query>
    where
        T: AsQuery + 'query,
        T::Query: QueryFragment<Self::Backend> + QueryId + 'query,
    {
        let (state, deadline) = (Arc::clone(&self.state), self.deadline());
        let load = AsyncConnectionCore::load(&mut self.pooled(), source);
        async move {
            let rows = state.answer(deadline, load).await?;
            // INSERT … RETURNING reports a broken constraint with its first row, and a row may not come either.
            let rows = stream::unfold((rows, state), move |(mut rows, state)| async move {
                let next = rows.next().map(Option::transpose);
                let row = state.answer(deadline, next).await.transpose()?;
                Some((row, (rows, state)))
            });
            Ok(rows.boxed())
        }
        .boxed()
    }

    fn execute_returning_count<'conn, 'query, T>(
        &'conn mut self,
        source: T,
    ) -> Self::ExecuteFuture<'conn, 'query>
    where
        T: QueryFragment<Self::Backend> + QueryId + 'query,
    {
        let (state, deadline) = (Arc::clone(&self.state), self.deadline());
        let execute = AsyncConnectionCore::execute_returning_count(&mut self.pooled(), source);
        async move { state.answer(deadline, execute).await }.boxed()
    }
}
