//! Reads the rows of orders: the order, its timeline, and the requests that caused it.

use audits::Database;
use chrono::{DateTime, Utc};
use diesel::sql_types::{BigInt, Bool, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use harness::{Result, Session};
use uuid::Uuid;

use super::line::{FactLine, Step};
use super::requests::RequestRow;

#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct OrderRow {
    #[diesel(sql_type = Text)]
    pub(crate) tenant_id: String,
    #[diesel(sql_type = Text)]
    pub(crate) state: String,
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) cancel_reason: Option<String>,
    #[diesel(sql_type = BigInt)]
    pub(crate) amount: i64,
    #[diesel(sql_type = Text)]
    pub(crate) currency: String,
    /// The number of events that the order has announced.
    #[diesel(sql_type = BigInt)]
    pub(crate) sequence: i64,
    #[diesel(sql_type = Timestamptz)]
    pub(crate) expires_at: DateTime<Utc>,
    #[diesel(sql_type = Bool)]
    pub(crate) is_overdue: bool,
    #[diesel(sql_type = Nullable<Text>)]
    pub(crate) contents: Option<String>,
}

impl OrderRow {
    pub(crate) const QUERY: &str = include_str!("../../sql/orders/order.sql");
}

#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct TimelineRow {
    #[diesel(sql_type = Text)]
    pub(crate) what: String,
    #[diesel(sql_type = Text)]
    pub(crate) state: String,
    #[diesel(sql_type = Text)]
    pub(crate) cause_kind: String,
    #[diesel(sql_type = SqlUuid)]
    pub(crate) cause_id: Uuid,
    #[diesel(sql_type = Text)]
    pub(crate) cause_by: String,
    #[diesel(sql_type = Timestamptz)]
    pub(crate) at: DateTime<Utc>,
}

impl TimelineRow {
    pub(crate) const QUERY: &str = include_str!("../../sql/orders/timeline.sql");
}

/// The order with its history.
#[derive(Debug, Clone)]
pub(crate) struct OrderFacts {
    pub(crate) order: OrderRow,
    timeline: Vec<TimelineRow>,
    requests: Vec<RequestRow>,
}

impl OrderFacts {
    /// `None` if there is no such order.
    pub(crate) async fn read(session: &mut Session, order: Uuid) -> Result<Option<Self>> {
        let query = sql_query(OrderRow::QUERY).bind::<SqlUuid, _>(order);
        let Some(row) = session.rows(query).await?.pop() else { return Ok(None) };
        let query = sql_query(TimelineRow::QUERY).bind::<SqlUuid, _>(order);
        let timeline: Vec<TimelineRow> = session.rows(query).await?;
        let has_operation = |row: &&TimelineRow| row.cause_kind != "message";
        let mut operations: Vec<Uuid> =
            timeline.iter().filter(has_operation).map(|row| row.cause_id).collect();
        operations.dedup();
        let requests = RequestRow::read(session, operations).await?;
        Ok(Some(Self { order: row, timeline, requests }))
    }

    pub(crate) fn lines(&self) -> Vec<FactLine> {
        let mut lines = Vec::new();
        for request in &self.requests {
            // The fact is written last. The request line comes before the entries that it caused.
            let caused = self.timeline.iter().filter(|row| row.cause_id == request.operation_id);
            lines.extend(request.line(Database::Orders, caused.map(|row| row.at).min()));
        }
        for TimelineRow { what, state, cause_kind, cause_by, at, .. } in &self.timeline {
            let text = format!("{what}: the order is {state}; by a {cause_kind} of {cause_by}");
            lines.push(FactLine::new(*at, Database::Orders, Step::Row, text));
        }
        lines
    }
}
