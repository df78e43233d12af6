//! Rows of `sql/service/*.sql` about messages.

use chrono::{DateTime, Utc};
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Bool, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use uuid::Uuid;

#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct EventRow {
    #[diesel(sql_type = BigInt)]
    pub(crate) id: i64,
    #[diesel(sql_type = SqlUuid)]
    pub(crate) event_id: Uuid,
    #[diesel(sql_type = Text)]
    pub(crate) topic: String,
    #[diesel(sql_type = SqlUuid)]
    pub(crate) aggregate_id: Uuid,
    #[diesel(sql_type = SqlUuid)]
    pub(crate) partition_key: Uuid,
    #[diesel(sql_type = BigInt)]
    pub(crate) sequence: i64,
    #[diesel(sql_type = Text)]
    pub(crate) kind: String,
    #[diesel(sql_type = Timestamptz)]
    pub(crate) created_at: DateTime<Utc>,
    /// Whether the relay's cursor is behind it, or a consumer has entered it. A blocked event has been passed, and is not published.
    #[diesel(sql_type = Bool)]
    pub(crate) has_been_passed: bool,
    #[diesel(sql_type = Bool)]
    pub(crate) is_blocked: bool,
    /// `None` if it waits behind another event.
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) blocked_error: Option<String>,
}

impl EventRow {
    pub(crate) const QUERY: &str = include_str!("../../../sql/service/outbox.sql");

    pub(crate) fn is_published(&self) -> bool {
        self.has_been_passed && !self.is_blocked
    }
}

#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct EnteredRow {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) message_id: Uuid,
    #[diesel(sql_type = Text)]
    pub(crate) source: String,
    #[diesel(sql_type = BigInt)]
    pub(crate) sequence: i64,
    #[diesel(sql_type = Timestamptz)]
    pub(crate) processed_at: DateTime<Utc>,
}

impl EnteredRow {
    pub(crate) const QUERY: &str = include_str!("../../../sql/service/inbox.sql");
}

/// A message that is parked or held.
#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct WaitingRow {
    #[diesel(sql_type = SqlUuid)]
    pub(crate) message_id: Uuid,
    #[diesel(sql_type = Text)]
    pub(crate) source: String,
    #[diesel(sql_type = BigInt)]
    pub(crate) sequence: i64,
    #[diesel(sql_type = Text)]
    pub(crate) state: String,
    #[diesel(sql_type = Text)]
    pub(crate) topic: String,
    #[diesel(sql_type = Integer)]
    pub(crate) partition: i32,
    #[diesel(sql_type = BigInt)]
    pub(crate) record_offset: i64,
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) error: Option<String>,
    #[diesel(sql_type = Timestamptz)]
    pub(crate) parked_at: DateTime<Utc>,
    /// The type in the headers, if they name one.
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) kind: Option<String>,
}

impl WaitingRow {
    pub(crate) const QUERY: &str = include_str!("../../../sql/service/waiting.sql");

    pub(crate) fn is_parked(&self) -> bool {
        self.state == "parked"
    }
}

#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct RelayRow {
    #[diesel(sql_type = Text)]
    pub(crate) owner: String,
    #[diesel(sql_type = Bool)]
    pub(crate) is_active: bool,
    /// The last day that retention has dropped from the outbox.
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) dropped_until: Option<String>,
}

impl RelayRow {
    pub(crate) const QUERY: &str = include_str!("../../../sql/service/relay.sql");
}
