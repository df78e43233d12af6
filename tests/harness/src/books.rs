//! The databases, read and never written: PostgreSQL keeps each session read-only.

use std::collections::BTreeMap;

use audits::{Database, Delivery, Entered, Question};
use diesel::sql_types::{BigInt, Text};
use diesel::{QueryableByName, sql_query};
use diesel_async::methods::LoadQuery;
use diesel_async::{AsyncPgConnection, RunQueryDsl};

use crate::{Error, Kafka, Part, Result};

/// The longest time that the opening of a session may take.
const CONNECT_SECONDS: u32 = 10;

/// Events that the relay has not published.
#[derive(Debug, Clone, Copy, QueryableByName)]
pub struct Backlog {
    /// Of all tenants.
    #[diesel(sql_type = BigInt)]
    pub waiting: i64,
    /// Of the given tenant.
    #[diesel(sql_type = BigInt)]
    pub of_tenant: i64,
}

/// The lease of a service's outbox.
#[derive(Debug, Clone, PartialEq, Eq, QueryableByName)]
pub struct Lease {
    /// The relay that has the lease, or had it last: it begins with the process id.
    #[diesel(sql_type = Text)]
    owner: String,
    /// Rises each time another relay takes the lease.
    #[diesel(sql_type = BigInt)]
    pub epoch: i64,
}

impl Lease {
    /// The process that has the lease.
    pub fn process(&self) -> Option<u32> {
        self.owner.split('-').next()?.parse().ok()
    }
}

/// Rows and digest of each table of each database.
pub type AllContents = BTreeMap<(Part, String), (i64, Option<String>)>;

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    count: i64,
}

/// The databases of an installation.
#[derive(Debug, Clone)]
pub struct Books {
    urls: BTreeMap<Part, String>,
}

/// A read-only session with one database.
pub struct Session {
    part: Part,
    connection: AsyncPgConnection,
}

impl Session {
    /// The rows of a query.
    pub async fn rows<T: Send, Q>(&mut self, query: Q) -> Result<Vec<T>>
    where
        Q: for<'q> LoadQuery<'static, AsyncPgConnection, T> + Send + 'static,
    {
        query.load(&mut self.connection).await.map_err(|error| unreadable(self.part, &error))
    }

    /// The violations that a question finds.
    pub async fn ask(&mut self, question: Question) -> Result<Vec<String>> {
        question.ask(&mut self.connection).await.map_err(|error| unreadable(self.part, &error))
    }
}

impl Books {
    /// The databases of [`Part::PROGRAMS`]; `url` gives the URL of each. A database without a URL cannot be read.
    pub fn new(url: impl Fn(Part) -> Option<String>) -> Self {
        let read_only = |url: String| {
            let separator = if url.contains('?') { '&' } else { '?' };
            format!(
                "{url}{separator}connect_timeout={CONNECT_SECONDS}&options=-c%20default_transaction_read_only%3Don"
            )
        };
        let given = Part::PROGRAMS.into_iter().filter_map(|part| Some((part, read_only(url(part)?))));
        Self { urls: given.collect() }
    }

    /// Opens a session for several queries.
    pub async fn session(&self, part: Part) -> Result<Session> {
        let url = self.urls.get(&part).ok_or_else(|| unreadable(part, &"no URL is given"))?;
        let connection = database::connect(url).await.map_err(|error| unreadable(part, &error))?;
        Ok(Session { part, connection })
    }

    /// The rows of a query.
    pub async fn load<T: Send, Q>(&self, part: Part, query: Q) -> Result<Vec<T>>
    where
        Q: for<'q> LoadQuery<'static, AsyncPgConnection, T> + Send + 'static,
    {
        self.session(part).await?.rows(query).await
    }

    /// The row of a query that always has one.
    pub async fn one<T: Send, Q>(&self, part: Part, query: Q) -> Result<T>
    where
        Q: for<'q> LoadQuery<'static, AsyncPgConnection, T> + Send + 'static,
    {
        let mut session = self.session(part).await?;
        query.get_result(&mut session.connection).await.map_err(|error| unreadable(part, &error))
    }

    /// The number of a query with the column `count`.
    pub async fn count(&self, part: Part, sql: &str) -> Result<i64> {
        let count: Count = self.one(part, sql_query(sql)).await?;
        Ok(count.count)
    }

    /// The same for a query with the parameter `$1`, a text.
    pub async fn count_of(&self, part: Part, sql: &str, text: impl ToString) -> Result<i64> {
        let count: Count = self.one(part, sql_query(sql).bind::<Text, _>(text.to_string())).await?;
        Ok(count.count)
    }

    /// The violations that a question finds.
    pub async fn ask(&self, database: Database, question: Question) -> Result<Vec<String>> {
        self.session(database.into()).await?.ask(question).await
    }

    /// Returns the events that a tenant's services have committed, published and consumed.
    pub async fn delivery(&self, kafka: &Kafka, tenant: &str) -> Result<Delivery> {
        let (mut rows, mut entered) = (Vec::new(), BTreeMap::new());
        for database in Database::services() {
            let outbox = sql_query(audits::Row::QUERY).bind::<Text, _>(tenant.to_owned());
            rows.extend(self.load::<audits::Row, _>(database.into(), outbox).await?);
            let inbox: Vec<Entered> = self.load(database.into(), sql_query(Entered::QUERY)).await?;
            entered.insert(database, inbox.into_iter().map(|row| row.message_id).collect());
        }
        Ok(Delivery::of(rows, kafka.messages(tenant).await?, entered))
    }

    /// The contents of every database.
    pub async fn contents(&self) -> Result<AllContents> {
        let mut all = AllContents::new();
        for part in Part::PROGRAMS {
            let mut session = self.session(part).await?;
            let contents = audits::contents(&mut session.connection).await;
            let contents = contents.map_err(|error| unreadable(part, &error))?;
            all.extend(contents.into_iter().map(|(table, found)| ((part, table), found)));
        }
        Ok(all)
    }

    /// The events of a service that its relay has not published, by its cursor.
    pub async fn backlog(&self, part: Part, tenant: &str) -> Result<Backlog> {
        let query = sql_query(include_str!("../../../audits/facts/backlog.sql"));
        self.one(part, query.bind::<Text, _>(tenant.to_owned())).await
    }

    /// The relay that may publish the outbox of a service.
    pub async fn lease(&self, part: Part) -> Result<Lease> {
        self.one(part, sql_query("SELECT owner, epoch FROM outbox_lease")).await
    }
}

fn unreadable(part: Part, reason: &impl ToString) -> Error {
    Error::Database { part, reason: reason.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_names_the_process_that_has_it() {
        let process = |owner: &str| Lease { owner: owner.to_owned(), epoch: 1 }.process();
        assert_eq!(process("4711-0c1d"), Some(4711));
        assert_eq!(process("nobody"), None);
    }
}
