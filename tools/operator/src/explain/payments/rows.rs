//! Rows of `sql/payments/*.sql`.

use chrono::{DateTime, Utc};
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Bool, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use uuid::Uuid;

#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct PaymentRow {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) id: Uuid,
    #[diesel(sql_type = BigInt)]
    pub(crate) amount: i64,
    #[diesel(sql_type = Text)]
    pub(crate) currency: String,
    #[diesel(sql_type = Text)]
    pub(crate) state: String,
    #[diesel(sql_type = Bool)]
    pub(crate) cancel_requested: bool,
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) decline_code: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) processor_intent: Option<String>,
    #[diesel(sql_type = BigInt)]
    pub(crate) sequence: i64,
    #[diesel(sql_type = Timestamptz)]
    pub(crate) created_at: DateTime<Utc>,
    #[diesel(sql_type = Timestamptz)]
    pub(crate) updated_at: DateTime<Utc>,
}

impl PaymentRow {
    pub(crate) const QUERY: &str = include_str!("../../../sql/payments/payment.sql");
}

#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct CallRow {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) id: Uuid,
    #[diesel(sql_type = Text)]
    pub(crate) kind: String,
    #[diesel(sql_type = Integer)]
    pub(crate) attempt: i32,
    #[diesel(sql_type = Bool)]
    pub(crate) in_flight: bool,
    /// `None` if nothing is left to do.
    #[diesel(sql_type = Nullable<Timestamptz>)]
    pub(crate) due_at: Option<DateTime<Utc>>,
    #[diesel(sql_type = Text)]
    pub(crate) mode: String,
    #[diesel(sql_type = Integer)]
    pub(crate) look_ups: i32,
    #[diesel(sql_type = Nullable<Timestamptz>)]
    pub(crate) sent_since: Option<DateTime<Utc>>,
    #[diesel(sql_type = Nullable<Timestamptz>)]
    pub(crate) last_sent_at: Option<DateTime<Utc>>,
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) last_outcome: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) processor_object: Option<String>,
    #[diesel(sql_type = Timestamptz)]
    pub(crate) created_at: DateTime<Utc>,
}

impl CallRow {
    pub(crate) const QUERY: &str = include_str!("../../../sql/payments/calls.sql");
}

#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct RefundRow {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) id: Uuid,
    #[diesel(sql_type = Text)]
    pub(crate) cause: String,
    #[diesel(sql_type = BigInt)]
    pub(crate) amount: i64,
    #[diesel(sql_type = Text)]
    pub(crate) state: String,
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) failure_code: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) processor_refund: Option<String>,
    /// `None` if no client asked for it.
    #[diesel(sql_type = Nullable<SqlUuid>)]
    pub(crate) operation_id: Option<Uuid>,
    #[diesel(sql_type = Timestamptz)]
    pub(crate) created_at: DateTime<Utc>,
    #[diesel(sql_type = Timestamptz)]
    pub(crate) updated_at: DateTime<Utc>,
}

impl RefundRow {
    pub(crate) const QUERY: &str = include_str!("../../../sql/payments/refunds.sql");
}

/// An entry with its transaction.
#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct EntryRow {
    #[diesel(sql_type = BigInt)]
    pub(crate) id: i64,
    #[diesel(sql_type = Text)]
    pub(crate) kind: String,
    #[diesel(sql_type = Timestamptz)]
    pub(crate) recorded_at: DateTime<Utc>,
    #[diesel(sql_type = Text)]
    pub(crate) account: String,
    #[diesel(sql_type = Text)]
    pub(crate) currency: String,
    #[diesel(sql_type = BigInt)]
    pub(crate) amount: i64,
}

impl EntryRow {
    pub(crate) const QUERY: &str = include_str!("../../../sql/payments/ledger.sql");
}

#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct ReviewRow {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) id: Uuid,
    #[diesel(sql_type = Text)]
    pub(crate) subject: String,
    #[diesel(sql_type = Text)]
    pub(crate) reason: String,
    #[diesel(sql_type = Timestamptz)]
    pub(crate) opened_at: DateTime<Utc>,
    /// `None` while it is open.
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) resolution: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) resolved_by: Option<String>,
    #[diesel(sql_type = Nullable<Timestamptz>)]
    pub(crate) resolved_at: Option<DateTime<Utc>>,
}

impl ReviewRow {
    pub(crate) const QUERY: &str = include_str!("../../../sql/payments/reviews.sql");
}
