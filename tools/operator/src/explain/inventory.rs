//! Reads the rows of inventory: the reservation of the order, and the stock that was shipped for it.

use audits::Database;
use chrono::{DateTime, Utc};
use diesel::sql_types::{BigInt, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{QueryableByName, sql_query};
use harness::{Result, Session};
use uuid::Uuid;

use super::line::{FactLine, Step};

#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct ReservationRow {
    #[diesel(sql_type = Text)]
    pub(crate) state: String,
    #[diesel(sql_type = Timestamptz)]
    created_at: DateTime<Utc>,
    #[diesel(sql_type = Timestamptz)]
    updated_at: DateTime<Utc>,
    #[diesel(sql_type = Nullable<Text>)]
    contents: Option<String>,
}

impl ReservationRow {
    pub(crate) const QUERY: &str = include_str!("../../sql/inventory/reservation.sql");
}

#[derive(Debug, Clone, QueryableByName)]
pub(crate) struct MovementRow {
    #[diesel(sql_type = Text)]
    sku: String,
    #[diesel(sql_type = BigInt)]
    delta: i64,
    #[diesel(sql_type = Timestamptz)]
    moved_at: DateTime<Utc>,
}

impl MovementRow {
    pub(crate) const QUERY: &str = include_str!("../../sql/inventory/movements.sql");
}

/// The reservation with its movements.
#[derive(Debug, Clone)]
pub(crate) struct StockFacts {
    pub(crate) reservation: ReservationRow,
    movements: Vec<MovementRow>,
}

impl StockFacts {
    /// `None` if no stock was reserved for the order.
    pub(crate) async fn read(session: &mut Session, order: Uuid) -> Result<Option<Self>> {
        let query = sql_query(ReservationRow::QUERY).bind::<SqlUuid, _>(order);
        let Some(reservation) = session.rows(query).await?.pop() else { return Ok(None) };
        let query = sql_query(MovementRow::QUERY).bind::<SqlUuid, _>(order);
        Ok(Some(Self { reservation, movements: session.rows(query).await? }))
    }

    pub(crate) fn lines(&self) -> Vec<FactLine> {
        let ReservationRow { state, created_at, updated_at, contents } = &self.reservation;
        let line = |at, text: String| FactLine::new(at, Database::Inventory, Step::Row, text);
        let contents = contents.as_deref().unwrap_or("nothing");
        let mut lines = vec![line(*created_at, format!("reservation: {contents} held"))];
        if state != "held" {
            lines.push(line(*updated_at, format!("reservation: {contents} {state}")));
        }
        for MovementRow { sku, delta, moved_at } in &self.movements {
            lines.push(line(*moved_at, format!("stock movement: {delta} × {sku}")));
        }
        lines
    }
}
