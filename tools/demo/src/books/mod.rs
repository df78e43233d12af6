//! The databases, read as their owners read them, and never written: each session is read-only.

mod facts;
mod look;
mod money;

use std::collections::BTreeMap;

use audits::{Database, Question, Settlement};
use diesel_async::methods::LoadQuery;
use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl};

use crate::part::Part;
use crate::surroundings::Surroundings;
use crate::trouble::Trouble;

pub(crate) use facts::Item;
pub(crate) use money::Asked;

/// The four databases.
pub(crate) struct Books {
    urls: BTreeMap<Part, String>,
}

impl Books {
    pub(crate) fn of(around: &dyn Surroundings) -> Self {
        let read_only = |url: String| {
            let separator = if url.contains('?') { '&' } else { '?' };
            format!("{url}{separator}options=-c%20default_transaction_read_only%3Don")
        };
        Self {
            urls: Part::PROGRAMS.into_iter().map(|part| (part, read_only(around.database(part)))).collect(),
        }
    }

    async fn open(&self, part: Part) -> Result<AsyncPgConnection, Trouble> {
        let url = self.urls.get(&part).map_or("", String::as_str);
        AsyncPgConnection::establish(url).await.map_err(|error| unreadable(part, &error))
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

    /// What a question of the audit finds wrong.
    pub(crate) async fn violations(
        &self,
        database: Database,
        question: &Question,
    ) -> Result<Vec<String>, Trouble> {
        let part = Part::from(database);
        let mut connection = self.open(part).await?;
        question.ask(&mut connection).await.map_err(|error| unreadable(part, &error))
    }

    /// All orders with their stock and their money.
    pub(crate) async fn settlement(&self) -> Result<Settlement, Trouble> {
        let (orders, reservations) = (self.orders().await?, self.reservations().await?);
        Ok(Settlement::of(orders, reservations, self.payments().await?, self.charges().await?))
    }
}

fn unreadable(part: Part, reason: &impl ToString) -> Trouble {
    Trouble::Database { part, reason: reason.to_string() }
}
