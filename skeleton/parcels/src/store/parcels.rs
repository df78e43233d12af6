//! The table `parcel`.

use chrono::{DateTime, Utc};
use contracts::OrderId;
use database::functions::clock_timestamp;
use database::{Aggregate, Connection, Locked, Result, Tx, UpdateRows, Write};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use envelope::TenantId;
use uuid::Uuid;

use crate::domain::State;
use crate::events::ParcelId;
use crate::schema::parcel;

/// A stored parcel.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = parcel)]
pub(crate) struct ParcelRow {
    pub(crate) id: Uuid,
    tenant_id: String,
    order_id: Uuid,
    pub(crate) state: State,
    pub(crate) note: Option<String>,
    /// The number of events that the parcel has announced.
    pub(crate) sequence: i64,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) updated_at: DateTime<Utc>,
}

impl ParcelRow {
    pub(crate) fn id(&self) -> ParcelId {
        self.id.into()
    }

    pub(crate) fn order(&self) -> OrderId {
        self.order_id.into()
    }
}

/// Every transaction locks parcels in the order of their ids, so transactions do not deadlock.
impl Aggregate for ParcelRow {
    type Key = ParcelId;

    fn key(&self) -> ParcelId {
        self.id()
    }

    async fn load(mut tx: &Tx, parcels: &[ParcelId]) -> Result<Vec<(Self, DateTime<Utc>)>> {
        let ids: Vec<Uuid> = parcels.iter().copied().map(ParcelId::uuid).collect();
        let rows = parcel::table
            .filter(parcel::id.eq_any(ids))
            .order(parcel::id)
            .select((Self::as_select(), clock_timestamp()))
            .for_update()
            .load(&mut tx)
            .await?;
        Ok(rows)
    }

    fn updates(changed: Vec<Self>) -> Vec<Write> {
        let update = UpdateRows::new(parcel::table, changed)
            .key(parcel::id, |row| row.id)
            .column(parcel::state, |row| row.state)
            .column(parcel::note, |row| row.note.take())
            .column(parcel::sequence, |row| row.sequence)
            .column(parcel::updated_at, |row| row.updated_at);
        vec![Write::new(update)]
    }
}

/// Inserts the open parcel of an order. An order that has one keeps it.
pub(crate) async fn insert(tx: &mut Tx, tenant: &TenantId, order: OrderId) -> Result<()> {
    let row = (
        parcel::id.eq(ParcelId::of(order).uuid()),
        parcel::tenant_id.eq(tenant.as_str()),
        parcel::order_id.eq(order.uuid()),
        parcel::state.eq(State::Open),
        parcel::sequence.eq(0),
    );
    diesel::insert_into(parcel::table).values(row).on_conflict_do_nothing().execute(tx).await?;
    Ok(())
}

/// Locks and returns one parcel of this tenant.
pub(crate) async fn lock(tx: &mut Tx, tenant: &TenantId, id: ParcelId) -> Result<Option<Locked<ParcelRow>>> {
    Ok(tx.lock::<ParcelRow>(id).await?.filter(|row| row.tenant_id == tenant.as_str()))
}

/// Gives a parcel a new state and the note of the request. Raises its sequence by one.
pub(crate) fn change(tx: &mut Tx, row: Locked<ParcelRow>, state: State, note: &str) -> Locked<ParcelRow> {
    row.change(tx, |row, at| {
        row.state = state;
        row.note = Some(note.to_owned());
        row.sequence += 1;
        row.updated_at = at;
    })
}

/// Returns this tenant's parcels with an id below `before`, newest order first.
pub(crate) async fn list(
    connection: &mut Connection,
    tenant: &TenantId,
    before: Uuid,
    limit: i64,
) -> Result<Vec<ParcelRow>> {
    let rows = parcel::table
        .filter(parcel::tenant_id.eq(tenant.as_str()))
        .filter(parcel::id.lt(before))
        .order(parcel::id.desc())
        .limit(limit)
        .select(ParcelRow::as_select())
        .load(connection)
        .await?;
    Ok(rows)
}

/// Erases the notes of this tenant's next parcels after `after`. Returns the parcels, in order.
pub(crate) async fn erase_notes(
    tx: &mut Tx,
    tenant: &TenantId,
    after: Uuid,
    limit: i64,
) -> Result<Vec<Uuid>> {
    let next = parcel::table
        .filter(parcel::tenant_id.eq(tenant.as_str()))
        .filter(parcel::id.gt(after))
        .filter(parcel::note.is_not_null())
        .order(parcel::id)
        .limit(limit)
        .select(parcel::id);
    let ids: Vec<Uuid> = next.load(tx).await?;
    let erased = parcel::note.eq(None::<String>);
    diesel::update(parcel::table.filter(parcel::id.eq_any(&ids))).set(erased).execute(tx).await?;
    Ok(ids)
}
