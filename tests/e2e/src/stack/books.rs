//! The installation's databases, read behind its back.

use diesel::QueryableByName;
use diesel::sql_types::BigInt;
use diesel_async::methods::LoadQuery;
use diesel_async::{AsyncPgConnection, RunQueryDsl};

use super::Stack;

impl Stack {
    /// One number from a program's database.
    pub async fn count(&self, name: &str, sql: &str) -> i64 {
        #[derive(QueryableByName)]
        struct Count {
            #[diesel(sql_type = BigInt)]
            count: i64,
        }
        let mut owner = self.databases[name].owner().await;
        let counted: Count =
            diesel::sql_query(sql).get_result(&mut owner).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
        counted.count
    }

    /// Rows from a program's database.
    pub async fn load<T: Send, Q>(&self, name: &str, query: Q) -> Vec<T>
    where
        Q: for<'q> LoadQuery<'static, AsyncPgConnection, T> + Send + 'static,
    {
        let mut owner = self.databases[name].owner().await;
        query.load(&mut owner).await.unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}
