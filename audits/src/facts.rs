//! Rows of `facts/*.sql`, which are joined where a promise spans databases.
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
    /// The query for these rows.
    pub const QUERY: &str = include_str!("../facts/orders.sql");
}

/// The stock that is reserved for an order.
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
    /// The query for these rows.
    pub const QUERY: &str = include_str!("../facts/reservations.sql");
}

/// A payment in our books.
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
    /// The sum of the succeeded refunds that clients requested.
    #[diesel(sql_type = BigInt)]
    pub refunded: i64,
    /// The same, plus requested refunds that have not ended.
    #[diesel(sql_type = BigInt)]
    pub refundable: i64,
}

impl Payment {
    /// The query for these rows.
    pub const QUERY: &str = include_str!("../facts/payments.sql");
}

/// A charge in the processor's books, or a declined one.
#[derive(Debug, QueryableByName)]
pub struct Charge {
    #[diesel(sql_type = Text)]
    pub id: String,
    /// The reference that payments sent to the processor.
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
    /// The query for these rows.
    pub const QUERY: &str = include_str!("../facts/charges.sql");

    /// The payment of the charge.
    pub fn payment(&self) -> Option<Uuid> {
        self.payment.as_deref().and_then(|text| text.parse().ok())
    }
}

/// The amount that the processor owes us for a payment, in our ledger or in its own balance.
#[derive(Debug, Clone, QueryableByName)]
pub struct AmountOwed {
    #[diesel(sql_type = Nullable<Text>)]
    pub payment: Option<String>,
    #[diesel(sql_type = Text)]
    pub currency: String,
    /// The amount less the fees.
    #[diesel(sql_type = BigInt)]
    pub owed: i64,
    /// The fees.
    #[diesel(sql_type = BigInt)]
    pub fees: i64,
}

impl AmountOwed {
    /// The query to payments.
    pub const LEDGER: &str = include_str!("../facts/ledger.sql");
    /// The query to the processor.
    pub const BALANCE: &str = include_str!("../facts/balance.sql");
}

/// A committed event.
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
    /// The query for these rows; its parameter is the tenant.
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
    /// The query for these rows.
    pub const QUERY: &str = include_str!("../facts/inbox.sql");
}
