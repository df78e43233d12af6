//! The timeline's rows: only ever added, in the transaction of what they tell about.

use std::mem::take;

use chrono::{DateTime, Utc};
use contracts::{OrderId, TenantId};
use database::functions::clock_timestamp;
use database::{Buffered, Connection, Insert, InsertRows, Result};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde::de::DeserializeOwned;
use serde_json::Value;
use uuid::Uuid;

use super::orders::{OrderRow, state_name};
use super::unreadable;
use crate::schema::{order_timeline as timeline, orders};
use crate::timeline::{Cause, CauseKind, What};

/// An entry as it is stored.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = timeline)]
pub(crate) struct EntryRow {
    what: String,
    state: String,
    cause_kind: String,
    cause_id: Uuid,
    cause_by: String,
    pub(crate) at: DateTime<Utc>,
}

impl EntryRow {
    pub(crate) fn what(&self) -> Result<What> {
        read(&self.what, "order_timeline.what")
    }

    pub(crate) fn state<S: DeserializeOwned>(&self) -> Result<S> {
        read(&self.state, "order_timeline.state")
    }

    pub(crate) fn cause(&self) -> Result<Cause> {
        let kind: CauseKind = read(&self.cause_kind, "order_timeline.cause_kind")?;
        Ok(Cause { kind, id: self.cause_id, by: self.cause_by.clone() })
    }
}

/// The columns have the words that JSON has.
fn read<T: DeserializeOwned>(word: &str, column: &'static str) -> Result<T> {
    serde_json::from_value(Value::from(word)).map_err(|_| unreadable(column))
}

/// The entries of an order of this tenant, in the order in which they happened; `None` if there is no such order.
pub(crate) async fn of_order(
    connection: &mut Connection,
    tenant: &TenantId,
    id: OrderId,
) -> Result<Option<Vec<EntryRow>>> {
    let rows: Vec<Option<EntryRow>> = orders::table
        .left_join(timeline::table)
        .filter(orders::id.eq(id.uuid()))
        .filter(orders::tenant_id.eq(tenant.as_str()))
        .order(timeline::id)
        .select(Option::<EntryRow>::as_select())
        .load(connection)
        .await?;
    // No row at all: no order. A row without an entry: an order older than the timeline.
    Ok((!rows.is_empty()).then(|| rows.into_iter().flatten().collect()))
}

/// An entry on its way into the table.
pub(crate) struct NewEntry {
    order_id: Uuid,
    tenant_id: String,
    what: &'static str,
    state: &'static str,
    cause_kind: &'static str,
    cause_id: Uuid,
    cause_by: String,
    at: Option<DateTime<Utc>>,
}

impl NewEntry {
    /// It has made the order what it is now.
    pub(crate) fn of_change(order: &OrderRow, what: What, cause: &Cause) -> Result<Self> {
        Ok(Self { at: Some(order.updated_at), ..Self::without_effect(order, what, cause)? })
    }

    /// It has changed nothing.
    pub(crate) fn without_effect(order: &OrderRow, what: What, cause: &Cause) -> Result<Self> {
        Ok(Self {
            order_id: order.id,
            tenant_id: order.tenant()?.to_string(),
            what: what.name(),
            state: state_name(&order.state()?),
            cause_kind: cause.kind.name(),
            cause_id: cause.id,
            cause_by: cause.by.clone(),
            at: None,
        })
    }
}

impl Buffered for NewEntry {
    fn inserts(rows: Vec<Self>) -> Vec<Insert> {
        let insert = InsertRows::new(timeline::table, rows)
            .column(timeline::order_id, |row| row.order_id)
            .column(timeline::tenant_id, |row| take(&mut row.tenant_id))
            .column(timeline::what, |row| row.what)
            .column(timeline::state, |row| row.state)
            .column(timeline::cause_kind, |row| row.cause_kind)
            .column(timeline::cause_id, |row| row.cause_id)
            .column(timeline::cause_by, |row| take(&mut row.cause_by))
            .column_or(timeline::at, |row| row.at, clock_timestamp());
        vec![Insert::new(insert)]
    }
}
