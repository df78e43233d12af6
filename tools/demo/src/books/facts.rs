//! The facts of `audits/facts`, as the demo reads them.

use audits::{Charge, Contents, Entered, Order, Payment, Reservation, Row};
use diesel::sql_types::{BigInt, Text};
use diesel::{QueryableByName, sql_query};
use uuid::Uuid;

use super::{Books, unreadable};
use crate::part::Part;
use crate::trouble::Trouble;

/// An item's stock, and how it came about.
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

/// Accepted commands, and facts.
#[derive(Debug, Clone, Copy, QueryableByName)]
pub(crate) struct Intents {
    #[diesel(sql_type = BigInt)]
    pub(crate) accepted: i64,
    #[diesel(sql_type = BigInt)]
    pub(crate) facts: i64,
}

/// Events that wait for the relay.
#[derive(Debug, Clone, Copy, QueryableByName)]
pub(crate) struct Backlog {
    #[diesel(sql_type = BigInt)]
    pub(crate) waiting: i64,
    #[diesel(sql_type = BigInt)]
    pub(crate) of_tenant: i64,
}

macro_rules! fact {
    ($name:literal) => {
        include_str!(concat!("../../../../audits/facts/", $name, ".sql"))
    };
}

impl Books {
    pub(crate) async fn orders(&self) -> Result<Vec<Order>, Trouble> {
        self.load(Part::Orders, sql_query(Order::QUERY)).await
    }

    pub(crate) async fn reservations(&self) -> Result<Vec<Reservation>, Trouble> {
        self.load(Part::Inventory, sql_query(Reservation::QUERY)).await
    }

    pub(crate) async fn payments(&self) -> Result<Vec<Payment>, Trouble> {
        self.load(Part::Payments, sql_query(Payment::QUERY)).await
    }

    pub(crate) async fn charges(&self) -> Result<Vec<Charge>, Trouble> {
        self.load(Part::Provider, sql_query(Charge::QUERY)).await
    }

    pub(crate) async fn stock(&self, tenant: &str) -> Result<Vec<Item>, Trouble> {
        let query = sql_query(fact!("stock")).bind::<Text, _>(tenant.to_owned());
        self.load(Part::Inventory, query).await
    }

    pub(crate) async fn outbox(&self, part: Part, tenant: &str) -> Result<Vec<Row>, Trouble> {
        self.load(part, sql_query(Row::QUERY).bind::<Text, _>(tenant.to_owned())).await
    }

    /// The ids of all messages that the service's consumer has entered.
    pub(crate) async fn inbox(&self, part: Part) -> Result<Vec<Uuid>, Trouble> {
        let entered: Vec<Entered> = self.load(part, sql_query(Entered::QUERY)).await?;
        Ok(entered.into_iter().map(|row| row.message_id).collect())
    }

    pub(crate) async fn intents(&self, part: Part, tenant: &str) -> Result<Intents, Trouble> {
        self.one(part, sql_query(fact!("intents")).bind::<Text, _>(tenant.to_owned())).await
    }

    pub(crate) async fn backlog(&self, part: Part, tenant: &str) -> Result<Backlog, Trouble> {
        self.one(part, sql_query(fact!("backlog")).bind::<Text, _>(tenant.to_owned())).await
    }

    /// Everything that a database holds, as one line per table.
    pub(crate) async fn contents(&self, part: Part) -> Result<Contents, Trouble> {
        let mut connection = self.open(part).await?;
        audits::contents(&mut connection).await.map_err(|error| unreadable(part, &error))
    }
}
