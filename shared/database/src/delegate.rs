//! Runs diesel queries on a `Connection`, for the types that hold one.

use std::sync::Arc;

use diesel::QueryResult;
use diesel::pg::Pg;
use diesel::query_builder::{AsQuery, QueryFragment, QueryId};
use diesel_async::{AsyncConnectionCore, SimpleAsyncConnection};
use futures_util::future::BoxFuture;

use crate::connection::{PgRow, PgRows};
use crate::{Connection, Tx};

/// The connection that an [`AppendTx`](crate::AppendTx) reads through. It owns a reference to the transaction, so that the
/// bounds of a query need no lifetime.
pub struct Reader(pub(crate) Arc<Tx>);

impl Reader {
    fn connection(&self) -> &Connection {
        self.0.connection()
    }
}

macro_rules! delegate_to_connection {
    ($($type:ty),+) => {$(
        impl SimpleAsyncConnection for $type {
            async fn batch_execute(&mut self, query: &str) -> QueryResult<()> {
                SimpleAsyncConnection::batch_execute(&mut self.connection(), query).await
            }
        }

        impl AsyncConnectionCore for $type {
            type LoadFuture<'conn, 'query> = BoxFuture<'conn, QueryResult<PgRows>>;
            type ExecuteFuture<'conn, 'query> = BoxFuture<'conn, QueryResult<usize>>;
            type Stream<'conn, 'query> = PgRows;
            type Row<'conn, 'query> = PgRow;
            type Backend = Pg;

            fn load<'conn, 'query, T>(&'conn mut self, source: T) -> Self::LoadFuture<'conn, 'query>
            where
                T: AsQuery + 'query,
                T::Query: QueryFragment<Self::Backend> + QueryId + 'query,
            {
                AsyncConnectionCore::load(&mut self.connection(), source)
            }

            fn execute_returning_count<'conn, 'query, T>(
                &'conn mut self,
                source: T,
            ) -> Self::ExecuteFuture<'conn, 'query>
            where
                T: QueryFragment<Self::Backend> + QueryId + 'query,
            {
                AsyncConnectionCore::execute_returning_count(&mut self.connection(), source)
            }
        }
    )+};
}

// Statements on `&mut &tx` that are awaited together share one round trip.
delegate_to_connection!(Connection, Tx, &Tx, Reader);
