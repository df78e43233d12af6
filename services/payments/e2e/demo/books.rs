//! The entries about the orders of a run in the books of the processor and of payments.

use diesel::sql_types::{BigInt, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use harness::orders::{Order, place_order};
use harness::payments::AmountOwed;
use harness::{Part, Result};
use serde_json::Value;
use uuid::Uuid;

use crate::demo::{Demo, TEA};

/// The amounts that the processor has taken for one payment, in minor units.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Charged {
    pub(crate) charges: usize,
    pub(crate) amount: i64,
    pub(crate) refunded: i64,
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

impl Demo<'_> {
    /// Places an order for one tea, to be paid with this card.
    pub(crate) async fn order_tea_with(&self, card: &str, reference: &str) -> Result<Order> {
        self.api.send(&place_order(&[(TEA, 1)], reference).paid_with(card)).await?.read(201)
    }

    /// Returns the entry of the processor's books for the payment of an order.
    pub(crate) async fn charged_for(&self, order: &Order) -> Result<Charged> {
        match order.payment_id {
            Some(payment) => self.charged(payment).await,
            None => Ok(Charged::default()),
        }
    }

    /// Returns the entry of the processor's books for a payment.
    pub(crate) async fn charged(&self, payment: Uuid) -> Result<Charged> {
        let charges = self.books.charges().await?;
        let own = charges.iter().filter(|charge| charge.succeeded && charge.payment() == Some(payment));
        Ok(own.fold(Charged::default(), |sum, charge| Charged {
            charges: sum.charges + 1,
            amount: sum.amount + charge.amount,
            refunded: sum.refunded + charge.refunded,
        }))
    }

    /// Sets faults at the processor while the work runs, and removes them afterwards.
    pub(crate) async fn with_faults<T>(
        &self,
        rules: &Value,
        work: impl AsyncFnOnce() -> Result<T>,
    ) -> Result<T> {
        self.api.set_faults(rules).await?;
        let done = work().await;
        self.api.clear_faults().await?;
        done
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
