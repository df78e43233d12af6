//! The table `order_timeline`. Rows are only inserted, in the transaction of the change that they report.

use std::mem::take;

use chrono::{DateTime, Utc};
use contracts::OrderId;
use database::{Buffered, Connection, InsertRows, Result, UnitOfWork, Write};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use envelope::TenantId;
use uuid::Uuid;

use super::orders::OrderRow;
use crate::domain::{Cause, CauseKind, EntryKind, Status};
use crate::schema::{order_timeline as timeline, orders};

/// A stored timeline entry.
#[derive(Debug, Queryable, Selectable)]
#[diesel(table_name = timeline)]
pub(crate) struct EntryRow {
    pub(crate) what: EntryKind,
    /// The order's status after the entry.
    pub(crate) state: Status,
    pub(crate) cause_kind: CauseKind,
    pub(crate) cause_id: Uuid,
    pub(crate) cause_by: String,
    pub(crate) at: DateTime<Utc>,
}

/// The entries of an order of this tenant, oldest first; `None` if there is no such order.
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
    // Because of the left join, an order without entries gives one row, and no order gives none.
    Ok((!rows.is_empty()).then(|| rows.into_iter().flatten().collect()))
}

/// Adds an entry of what happened to `order` at this time.
pub(crate) fn add(
    unit: &mut impl UnitOfWork,
    order: &OrderRow,
    kind: EntryKind,
    cause: &Cause,
    at: DateTime<Utc>,
) -> Result<()> {
    unit.buffer(NewEntry {
        order_id: order.id().uuid(),
        tenant_id: order.tenant()?.to_string(),
        what: kind,
        state: Status::from(order.state()?),
        cause_kind: cause.kind,
        cause_id: cause.id,
        cause_by: cause.by.clone(),
        at,
    });
    Ok(())
}

/// An entry that is not written yet.
struct NewEntry {
    order_id: Uuid,
    tenant_id: String,
    what: EntryKind,
    state: Status,
    cause_kind: CauseKind,
    cause_id: Uuid,
    cause_by: String,
    at: DateTime<Utc>,
}

impl Buffered for NewEntry {
    fn writes(rows: Vec<Self>) -> Vec<Write> {
        let insert = InsertRows::new(timeline::table, rows)
            .column(timeline::order_id, |row| row.order_id)
            .column(timeline::tenant_id, |row| take(&mut row.tenant_id))
            .column(timeline::what, |row| row.what)
            .column(timeline::state, |row| row.state)
            .column(timeline::cause_kind, |row| row.cause_kind)
            .column(timeline::cause_id, |row| row.cause_id)
            .column(timeline::cause_by, |row| take(&mut row.cause_by))
            .column(timeline::at, |row| row.at);
        vec![Write::new(insert)]
    }
}
