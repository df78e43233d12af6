//! The JSON that clients read: parcels.
//!
//! The domain has no JSON, so its enum is repeated here. Because of `serde(remote)`, a list that differs from the domain's does not
//! compile.

use contracts::OrderId;
use envelope::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::State;
use crate::events::ParcelId;
use crate::store::parcels::ParcelRow;

/// The parcel of an order.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Parcel)]
pub(crate) struct ParcelView {
    /// Its id.
    id: ParcelId,
    /// The order.
    order_id: OrderId,
    /// Open or completed.
    #[serde(with = "ParcelStatusView")]
    #[schema(value_type = ParcelStatusView)]
    status: State,
    /// The words of the request that completed it; null while it is open.
    #[schema(required)]
    note: Option<String>,
    /// When it was created.
    created_at: Timestamp,
    /// When it last changed.
    updated_at: Timestamp,
}

/// The status of a parcel. A closed list: a new value means a new version of the API.
#[derive(Serialize, ToSchema)]
#[schema(as = ParcelStatus)]
#[serde(remote = "State", rename_all = "snake_case")]
pub(crate) enum ParcelStatusView {
    Open,
    Completed,
}

impl From<&ParcelRow> for ParcelView {
    fn from(row: &ParcelRow) -> Self {
        let time = |at| Timestamp::from_rfc3339(database::time::to_rfc3339(at));
        Self {
            id: row.id(),
            order_id: row.order(),
            status: row.state,
            note: row.note.clone(),
            created_at: time(row.created_at),
            updated_at: time(row.updated_at),
        }
    }
}
