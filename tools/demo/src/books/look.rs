//! Single figures that the APIs do not give.

use diesel::sql_types::{Array, BigInt, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::AsyncPgConnection;
use diesel_async::methods::LoadQuery;
use uuid::Uuid;

use super::Books;
use crate::part::Part;
use crate::trouble::Trouble;

#[derive(QueryableByName)]
pub(super) struct Number {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

#[derive(QueryableByName)]
struct Id {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
}

#[derive(QueryableByName)]
struct Moment {
    #[diesel(sql_type = Text)]
    moment: String,
}

/// The lease of a service's outbox.
#[derive(Debug, Clone, PartialEq, Eq, QueryableByName)]
pub(crate) struct Lease {
    /// The relay that has it, or had it last: the number of its process, and more.
    #[diesel(sql_type = Text)]
    owner: String,
    /// Rises with each change of hands.
    #[diesel(sql_type = BigInt)]
    pub(crate) epoch: i64,
}

impl Lease {
    /// The process that has it.
    pub(crate) fn process(&self) -> Option<u32> {
        self.owner.split('-').next()?.parse().ok()
    }
}

impl Books {
    /// The tenant's orders with this reference.
    pub(crate) async fn orders_called(&self, tenant: &str, reference: &str) -> Result<Vec<Uuid>, Trouble> {
        let query = sql_query("SELECT id FROM orders WHERE tenant_id = $1 AND reference = $2")
            .bind::<Text, _>(tenant.to_owned())
            .bind::<Text, _>(reference.to_owned());
        let found: Vec<Id> = self.load(Part::Orders, query).await?;
        Ok(found.into_iter().map(|row| row.id).collect())
    }

    /// How many of these orders are not confirmed.
    pub(crate) async fn unconfirmed(&self, orders: &[Uuid]) -> Result<i64, Trouble> {
        let query =
            sql_query("SELECT count(*) AS number FROM orders WHERE id = ANY ($1) AND state <> 'confirmed'");
        self.number(Part::Orders, query.bind::<Array<SqlUuid>, _>(orders.to_vec())).await
    }

    /// Who may publish what a service has committed.
    pub(crate) async fn lease(&self, part: Part) -> Result<Lease, Trouble> {
        self.one(part, sql_query("SELECT owner, epoch FROM outbox_lease")).await
    }

    /// When a service's relay last wrote down how far it is, in the words of the database.
    pub(crate) async fn last_checkpoint(&self, part: Part) -> Result<String, Trouble> {
        let query = sql_query("SELECT updated_at::text AS moment FROM outbox_cursor");
        Ok(self.one::<Moment, _>(part, query).await?.moment)
    }

    /// How many items of the tenant orders can price.
    pub(crate) async fn in_catalogue(&self, tenant: &str) -> Result<i64, Trouble> {
        let query = sql_query("SELECT count(*) AS number FROM catalogue_item WHERE tenant_id = $1");
        self.number(Part::Orders, query.bind::<Text, _>(tenant.to_owned())).await
    }

    pub(super) async fn number<Q>(&self, part: Part, query: Q) -> Result<i64, Trouble>
    where
        Q: for<'q> LoadQuery<'static, AsyncPgConnection, Number> + Send + 'static,
    {
        Ok(self.one::<Number, _>(part, query).await?.number)
    }
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
