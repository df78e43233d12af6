//! Single figures that the APIs do not give.

use diesel::sql_types::{BigInt, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use uuid::Uuid;

use super::Books;
use crate::stack::Part;
use crate::trouble::Trouble;

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

#[derive(QueryableByName)]
struct Id {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
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

    /// How many items of the tenant orders can price.
    pub(crate) async fn in_catalogue(&self, tenant: &str) -> Result<i64, Trouble> {
        let query = sql_query("SELECT count(*) AS number FROM catalogue_item WHERE tenant_id = $1");
        Ok(self.one::<Number, _>(Part::Orders, query.bind::<Text, _>(tenant.to_owned())).await?.number)
    }

    /// How many attempts payments has made to charge a payment.
    pub(crate) async fn attempts(&self, payment: Uuid) -> Result<i64, Trouble> {
        let query = sql_query("SELECT attempt::bigint AS number FROM intent WHERE id = $1");
        Ok(self.one::<Number, _>(Part::Payments, query.bind::<SqlUuid, _>(payment)).await?.number)
    }

    /// How many charges and refunds are not settled yet.
    pub(crate) async fn unsettled(&self) -> Result<i64, Trouble> {
        let query = sql_query("SELECT count(*) AS number FROM intent WHERE due_at IS NOT NULL");
        Ok(self.one::<Number, _>(Part::Payments, query).await?.number)
    }
}
