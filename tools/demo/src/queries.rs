//! Figures that only the demo needs and that no API gives.

use diesel::sql_types::{Array, BigInt, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use harness::{Part, Result};
use uuid::Uuid;

use crate::demo::Demo;

/// Accepted commands with a key, and audit facts.
#[derive(Debug, Clone, Copy, QueryableByName)]
pub(crate) struct AcceptedRequests {
    #[diesel(sql_type = BigInt)]
    pub(crate) accepted: i64,
    #[diesel(sql_type = BigInt)]
    pub(crate) facts: i64,
}

#[derive(QueryableByName)]
struct Name {
    #[diesel(sql_type = Text)]
    name: String,
}

#[derive(QueryableByName)]
struct Id {
    #[diesel(sql_type = SqlUuid)]
    id: Uuid,
}

impl Demo<'_> {
    /// The orders of this run with this reference.
    pub(crate) async fn orders_with_reference(&self, reference: &str) -> Result<Vec<Uuid>> {
        let query = sql_query("SELECT id FROM orders WHERE tenant_id = $1 AND reference = $2")
            .bind::<Text, _>(self.tenant.clone())
            .bind::<Text, _>(reference.to_owned());
        let found: Vec<Id> = self.books.load(Part::ORDERS, query).await?;
        Ok(found.into_iter().map(|row| row.id).collect())
    }

    /// Returns how many of these orders are not confirmed.
    pub(crate) async fn unconfirmed(&self, orders: &[Uuid]) -> Result<usize> {
        let query = sql_query("SELECT id FROM orders WHERE id = ANY ($1) AND state <> 'confirmed'");
        let query = query.bind::<Array<SqlUuid>, _>(orders.to_vec());
        Ok(self.books.load::<Id, _>(Part::ORDERS, query).await?.len())
    }

    /// When the relay of a service last moved its cursor, as the database writes it.
    pub(crate) async fn last_checkpoint(&self, part: Part) -> Result<String> {
        let query = sql_query("SELECT updated_at::text AS name FROM outbox_cursor");
        Ok(self.books.one::<Name, _>(part, query).await?.name)
    }

    /// Returns how many items of this run orders can price.
    pub(crate) async fn catalogue_size(&self) -> Result<i64> {
        let sql = "SELECT count(*) FROM catalogue_item WHERE tenant_id = $1";
        self.books.count_of(Part::ORDERS, sql, &self.tenant).await
    }

    /// The accepted requests of this run at one service.
    pub(crate) async fn accepted_requests(&self, part: Part) -> Result<AcceptedRequests> {
        self.books
            .one(
                part,
                sql_query(include_str!("../../../audits/facts/calls.sql"))
                    .bind::<Text, _>(self.tenant.clone()),
            )
            .await
    }
}
