//! The facts of `audits/facts`: what the demo joins where a promise spans databases.

use std::collections::BTreeMap;

use diesel::sql_types::{BigInt, Binary, Bool, Nullable, Text, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use uuid::Uuid;

use super::{Books, unreadable};
use crate::stack::Part;
use crate::trouble::Trouble;

/// An order.
#[derive(Debug, QueryableByName)]
pub(crate) struct Order {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) id: Uuid,
    #[diesel(sql_type = Text)]
    pub(crate) tenant_id: String,
    #[diesel(sql_type = Text)]
    pub(crate) state: String,
    #[diesel(sql_type = BigInt)]
    pub(crate) amount: i64,
    #[diesel(sql_type = Text)]
    pub(crate) currency: String,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    pub(crate) payment_id: Option<Uuid>,
}

/// What an order was promised.
#[derive(Debug, QueryableByName)]
pub(crate) struct Reservation {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) order_id: Uuid,
    #[diesel(sql_type = Text)]
    pub(crate) tenant_id: String,
    #[diesel(sql_type = Text)]
    pub(crate) state: String,
}

/// A payment, as payments believes it to be.
#[derive(Debug, QueryableByName)]
pub(crate) struct Payment {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) id: Uuid,
    #[diesel(sql_type = Text)]
    pub(crate) tenant_id: String,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    pub(crate) order_id: Option<Uuid>,
    #[diesel(sql_type = BigInt)]
    pub(crate) amount: i64,
    #[diesel(sql_type = Text)]
    pub(crate) currency: String,
    #[diesel(sql_type = Text)]
    pub(crate) state: String,
}

/// A card was asked for money.
#[derive(Debug, QueryableByName)]
pub(crate) struct Charge {
    #[diesel(sql_type = Text)]
    pub(crate) id: String,
    /// As payments named it to the processor.
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) payment: Option<String>,
    #[diesel(sql_type = BigInt)]
    pub(crate) amount: i64,
    #[diesel(sql_type = BigInt)]
    pub(crate) refunded: i64,
    #[diesel(sql_type = Text)]
    pub(crate) currency: String,
    #[diesel(sql_type = Bool)]
    pub(crate) succeeded: bool,
}

impl Charge {
    /// Which payment it was for.
    pub(crate) fn payment(&self) -> Option<Uuid> {
        self.payment.as_deref().and_then(|text| text.parse().ok())
    }
}

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

/// An event that was committed.
#[derive(Debug, QueryableByName)]
pub(crate) struct Row {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) event_id: Uuid,
    #[diesel(sql_type = Text)]
    pub(crate) topic: String,
    #[diesel(sql_type = SqlUuid)]
    pub(crate) partition_key: Uuid,
    #[diesel(sql_type = SqlUuid)]
    pub(crate) aggregate_id: Uuid,
    #[diesel(sql_type = BigInt)]
    pub(crate) sequence: i64,
    #[diesel(sql_type = Text)]
    pub(crate) kind: String,
    #[diesel(sql_type = Binary)]
    pub(crate) payload: Vec<u8>,
}

#[derive(Debug, QueryableByName)]
struct Entered {
    #[diesel(sql_type = SqlUuid)]
    message_id: Uuid,
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

/// Rows and digest of each table.
pub(crate) type Contents = BTreeMap<String, (i64, Option<String>)>;

macro_rules! fact {
    ($name:literal) => {
        include_str!(concat!("../../../../audits/facts/", $name, ".sql"))
    };
}

impl Books {
    pub(crate) async fn orders(&self) -> Result<Vec<Order>, Trouble> {
        self.load(Part::Orders, sql_query(fact!("orders"))).await
    }

    pub(crate) async fn reservations(&self) -> Result<Vec<Reservation>, Trouble> {
        self.load(Part::Inventory, sql_query(fact!("reservations"))).await
    }

    pub(crate) async fn payments(&self) -> Result<Vec<Payment>, Trouble> {
        self.load(Part::Payments, sql_query(fact!("payments"))).await
    }

    pub(crate) async fn charges(&self) -> Result<Vec<Charge>, Trouble> {
        self.load(Part::Provider, sql_query(fact!("charges"))).await
    }

    pub(crate) async fn stock(&self, tenant: &str) -> Result<Vec<Item>, Trouble> {
        let query = sql_query(fact!("stock")).bind::<Text, _>(tenant.to_owned());
        self.load(Part::Inventory, query).await
    }

    pub(crate) async fn outbox(&self, part: Part, tenant: &str) -> Result<Vec<Row>, Trouble> {
        self.load(part, sql_query(fact!("outbox")).bind::<Text, _>(tenant.to_owned())).await
    }

    /// The ids of all messages that the service's consumer has entered.
    pub(crate) async fn inbox(&self, part: Part) -> Result<Vec<Uuid>, Trouble> {
        let entered: Vec<Entered> = self.load(part, sql_query(fact!("inbox"))).await?;
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
        #[derive(QueryableByName)]
        struct Table {
            #[diesel(sql_type = Text)]
            name: String,
            #[diesel(sql_type = Text)]
            query: String,
        }
        #[derive(QueryableByName)]
        struct Digest {
            #[diesel(sql_type = BigInt)]
            rows: i64,
            #[diesel(sql_type = Nullable<Text>)]
            digest: Option<String>,
        }
        let mut connection = self.open(part).await?;
        let tables: Vec<Table> = sql_query(fact!("tables"))
            .load(&mut connection)
            .await
            .map_err(|error| unreadable(part, &error))?;
        let mut contents = Contents::new();
        for Table { name, query } in tables {
            // A table's name cannot be bound: PostgreSQL has written and quoted this query itself.
            let found: Digest = sql_query(query)
                .get_result(&mut connection)
                .await
                .map_err(|error| unreadable(part, &error))?;
            contents.insert(name, (found.rows, found.digest));
        }
        Ok(contents)
    }
}
