//! Rows of `facts/*.sql`: what one service has committed, and another has entered.
#![expect(missing_docs, reason = "columns, by the names that the statements give them")]

use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Binary, Text, Uuid as SqlUuid};
use uuid::Uuid;

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
