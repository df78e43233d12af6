//! What is joined where a promise spans databases: rows of `facts/*.sql`, for whoever has a connection to load them.
#![expect(missing_docs, reason = "columns, by the names that the statements give them")]

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Binary, Bool, Nullable, Text, Uuid as SqlUuid};
use uuid::Uuid;

/// An order.
#[derive(Debug, Clone, QueryableByName)]
pub struct Order {
    #[diesel(sql_type = SqlUuid)]
    pub id: Uuid,
    #[diesel(sql_type = Text)]
    pub tenant_id: String,
    #[diesel(sql_type = Text)]
    pub state: String,
    #[diesel(sql_type = BigInt)]
    pub amount: i64,
    #[diesel(sql_type = Text)]
    pub currency: String,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    pub payment_id: Option<Uuid>,
}

impl Order {
    /// Loads them.
    pub const QUERY: &str = include_str!("../facts/orders.sql");
}

/// What an order was promised.
#[derive(Debug, QueryableByName)]
pub struct Reservation {
    #[diesel(sql_type = SqlUuid)]
    pub order_id: Uuid,
    #[diesel(sql_type = Text)]
    pub tenant_id: String,
    #[diesel(sql_type = Text)]
    pub state: String,
}

impl Reservation {
    /// Loads them.
    pub const QUERY: &str = include_str!("../facts/reservations.sql");
}

/// A payment, as payments believes it to be.
#[derive(Debug, QueryableByName)]
pub struct Payment {
    #[diesel(sql_type = SqlUuid)]
    pub id: Uuid,
    #[diesel(sql_type = Text)]
    pub tenant_id: String,
    #[diesel(sql_type = Nullable<SqlUuid>)]
    pub order_id: Option<Uuid>,
    #[diesel(sql_type = BigInt)]
    pub amount: i64,
    #[diesel(sql_type = Text)]
    pub currency: String,
    #[diesel(sql_type = Text)]
    pub state: String,
}

impl Payment {
    /// Loads them.
    pub const QUERY: &str = include_str!("../facts/payments.sql");
}

/// A card was asked for money.
#[derive(Debug, QueryableByName)]
pub struct Charge {
    #[diesel(sql_type = Text)]
    pub id: String,
    /// As payments named it to the processor.
    #[diesel(sql_type = Nullable<Text>)]
    pub payment: Option<String>,
    #[diesel(sql_type = BigInt)]
    pub amount: i64,
    #[diesel(sql_type = BigInt)]
    pub refunded: i64,
    #[diesel(sql_type = Text)]
    pub currency: String,
    #[diesel(sql_type = Bool)]
    pub succeeded: bool,
}

impl Charge {
    /// Loads them.
    pub const QUERY: &str = include_str!("../facts/charges.sql");

    /// Which payment it was for.
    pub fn payment(&self) -> Option<Uuid> {
        self.payment.as_deref().and_then(|text| text.parse().ok())
    }
}

/// What the processor owes us for a payment, by our ledger or by its own balance.
#[derive(Debug, Clone, QueryableByName)]
pub struct Standing {
    #[diesel(sql_type = Nullable<Text>)]
    pub payment: Option<String>,
    #[diesel(sql_type = Text)]
    pub currency: String,
    /// Less what it has kept.
    #[diesel(sql_type = BigInt)]
    pub owed: i64,
    /// What it has kept.
    #[diesel(sql_type = BigInt)]
    pub fees: i64,
}

impl Standing {
    /// Loads them from payments.
    pub const LEDGER: &str = include_str!("../facts/ledger.sql");
    /// Loads them from the processor.
    pub const BALANCE: &str = include_str!("../facts/balance.sql");
}

/// An event that was committed.
#[derive(Debug, QueryableByName)]
pub struct Row {
    #[diesel(sql_type = SqlUuid)]
    pub event_id: Uuid,
    #[diesel(sql_type = Text)]
    pub topic: String,
    #[diesel(sql_type = SqlUuid)]
    pub partition_key: Uuid,
    #[diesel(sql_type = SqlUuid)]
    pub aggregate_id: Uuid,
    #[diesel(sql_type = BigInt)]
    pub sequence: i64,
    #[diesel(sql_type = Text)]
    pub kind: String,
    #[diesel(sql_type = Binary)]
    pub payload: Vec<u8>,
}

impl Row {
    /// Loads them; bind the tenant.
    pub const QUERY: &str = include_str!("../facts/outbox.sql");
}

/// A message that a consumer has entered.
#[derive(Debug, QueryableByName)]
pub struct Entered {
    /// Its id.
    #[diesel(sql_type = SqlUuid)]
    pub message_id: Uuid,
}

impl Entered {
    /// Loads them.
    pub const QUERY: &str = include_str!("../facts/inbox.sql");
}
