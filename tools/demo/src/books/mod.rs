//! The databases, read as their owners read them, and never written: each session is read-only.

mod facts;
mod look;

use std::env;

use diesel::QueryableByName;
use diesel::sql_types::Text;
use diesel_async::methods::LoadQuery;
use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl};

use crate::stack::Part;
use crate::trouble::Trouble;

pub(crate) use facts::{Charge, Item, Order, Payment, Reservation, Row};

/// The server with the four databases.
pub(crate) struct Books {
    /// `host:port`.
    server: String,
}

impl Books {
    pub(crate) fn from_environment() -> Result<Self, Trouble> {
        let url = env::var("IDEM_POSTGRES_URL").map_err(|_| Trouble::Environment("IDEM_POSTGRES_URL"))?;
        let address = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
        let address = address.rsplit_once('@').map_or(address, |(_, host)| host);
        let server = address.split(['/', '?']).next().unwrap_or_default().to_owned();
        Ok(Self { server })
    }

    /// In development a role's password is its name.
    async fn open(&self, part: Part) -> Result<AsyncPgConnection, Trouble> {
        let (server, name) = (&self.server, part.name());
        let url = format!(
            "postgres://{name}_owner:{name}_owner@{server}/{name}?options=-c%20default_transaction_read_only%3Don"
        );
        AsyncPgConnection::establish(&url).await.map_err(|error| unreadable(part, &error))
    }

    async fn load<T: Send, Q>(&self, part: Part, query: Q) -> Result<Vec<T>, Trouble>
    where
        Q: for<'q> LoadQuery<'static, AsyncPgConnection, T> + Send + 'static,
    {
        let mut connection = self.open(part).await?;
        query.load(&mut connection).await.map_err(|error| unreadable(part, &error))
    }

    /// The one row of a query that always has one.
    async fn one<T: Send, Q>(&self, part: Part, query: Q) -> Result<T, Trouble>
    where
        Q: for<'q> LoadQuery<'static, AsyncPgConnection, T> + Send + 'static,
    {
        let mut connection = self.open(part).await?;
        query.get_result(&mut connection).await.map_err(|error| unreadable(part, &error))
    }

    /// What an audit query finds wrong.
    pub(crate) async fn violations(&self, part: Part, query: &'static str) -> Result<Vec<String>, Trouble> {
        #[derive(QueryableByName)]
        struct Found {
            #[diesel(sql_type = Text)]
            violation: String,
        }
        let found: Vec<Found> = self.load(part, diesel::sql_query(query)).await?;
        Ok(found.into_iter().map(|row| row.violation).collect())
    }
}

fn unreadable(part: Part, reason: &impl ToString) -> Trouble {
    Trouble::Database { part, reason: reason.to_string() }
}
