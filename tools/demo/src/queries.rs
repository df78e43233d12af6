//! Figures that only the demo needs and that no API gives.

use audits::AmountOwed;
use diesel::sql_types::{Array, BigInt, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use harness::api::Order;
use harness::{Part, Result};
use uuid::Uuid;

use crate::demo::Demo;

/// The stock of an item, and its movements.
#[derive(Debug, QueryableByName)]
pub(crate) struct Item {
    #[diesel(sql_type = Text)]
    pub(crate) sku: String,
    #[diesel(sql_type = BigInt)]
    pub(crate) on_hand: i64,
    #[diesel(sql_type = BigInt)]
    pub(crate) reserved: i64,
    #[diesel(sql_type = BigInt)]
    pub(crate) adjusted: i64,
    #[diesel(sql_type = BigInt)]
    pub(crate) shipped: i64,
}

/// Accepted commands with a key, and audit facts.
#[derive(Debug, Clone, Copy, QueryableByName)]
pub(crate) struct AcceptedRequests {
    #[diesel(sql_type = BigInt)]
    pub(crate) accepted: i64,
    #[diesel(sql_type = BigInt)]
    pub(crate) facts: i64,
}

/// The call by which payments charges a card.
#[derive(Debug, Clone, PartialEq, Eq, Default, QueryableByName)]
pub(crate) struct ChargeCall {
    /// Requests under the key of the charge, and lookups.
    #[diesel(sql_type = BigInt)]
    pub(crate) attempts: i64,
    /// `request`, or `look_up` when a retry under the key no longer shows the outcome.
    #[diesel(sql_type = Text)]
    pub(crate) how: String,
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

macro_rules! fact {
    ($name:literal) => {
        sql_query(include_str!(concat!("../../../audits/facts/", $name, ".sql")))
    };
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

    /// The items of this run.
    pub(crate) async fn stock(&self) -> Result<Vec<Item>> {
        self.books.load(Part::INVENTORY, fact!("stock").bind::<Text, _>(self.tenant.clone())).await
    }

    /// The accepted requests of this run at one service.
    pub(crate) async fn accepted_requests(&self, part: Part) -> Result<AcceptedRequests> {
        self.books.one(part, fact!("calls").bind::<Text, _>(self.tenant.clone())).await
    }

    /// The call by which payments charged the card of an order.
    pub(crate) async fn charge_call_of(&self, order: &Order) -> Result<ChargeCall> {
        match order.payment_id {
            Some(payment) => self.charge_call(payment).await,
            None => Ok(ChargeCall::default()),
        }
    }

    /// The call that charges a payment.
    pub(crate) async fn charge_call(&self, payment: Uuid) -> Result<ChargeCall> {
        let query =
            sql_query("SELECT attempt::bigint AS attempts, mode AS how FROM processor_call WHERE id = $1");
        self.books.one(Part::PAYMENTS, query.bind::<SqlUuid, _>(payment)).await
    }

    /// The kinds of the ledger's transactions about a payment.
    pub(crate) async fn postings(&self, payment: Uuid) -> Result<Vec<String>> {
        let query =
            sql_query("SELECT kind AS name FROM ledger_transaction WHERE payment_id = $1 ORDER BY kind");
        let kinds: Vec<Name> = self.books.load(Part::PAYMENTS, query.bind::<SqlUuid, _>(payment)).await?;
        Ok(kinds.into_iter().map(|row| row.name).collect())
    }

    /// Returns how many webhook events with this id payments has stored.
    pub(crate) async fn stored_webhooks(&self, id: &str) -> Result<i64> {
        self.books.count_of(Part::PAYMENTS, "SELECT count(*) FROM webhook_event WHERE id = $1", id).await
    }

    /// Returns how many events payments has committed about a payment.
    pub(crate) async fn events_about(&self, payment: Uuid) -> Result<i64> {
        let sql = "SELECT count(*) FROM outbox_event WHERE aggregate_id = $1::uuid";
        self.books.count_of(Part::PAYMENTS, sql, payment).await
    }

    /// The payments of this run.
    pub(crate) async fn payments(&self) -> Result<Vec<Uuid>> {
        let payments = self.books.payments().await?.into_iter();
        Ok(payments.filter(|row| row.tenant_id == self.tenant).map(|row| row.id).collect())
    }

    /// Returns the amount owed and the fees of this run's payments: by our ledger, and by the processor's balance.
    pub(crate) async fn amounts_owed(&self) -> Result<[Vec<AmountOwed>; 2]> {
        let names: Vec<String> = self.payments().await?.iter().map(Uuid::to_string).collect();
        let is_own = |row: &AmountOwed| row.payment.as_ref().is_some_and(|name| names.contains(name));
        Ok(self.books.amounts_owed().await?.map(|rows| rows.into_iter().filter(is_own).collect()))
    }
}
