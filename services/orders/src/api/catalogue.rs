//! `GET /v1/catalogue/{sku}`

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use contracts::{ItemId, Money, Sku, Timestamp};
use edge::{Edge, IfNoneMatch, Principal, Problem, ReadProblems, Segment};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::views::time;
use crate::store::catalogue::{self, EntryRow};

/// An item, as orders are priced by it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CatalogueEntry {
    /// Its name within the tenant.
    sku: Sku,
    /// Its id, as events name it.
    item_id: ItemId,
    /// What people call it.
    #[schema(examples("Green tea"))]
    name: String,
    /// The price of one.
    unit_price: Money,
    /// The version of name and price, as inventory counts it.
    #[schema(minimum = 1)]
    version: i64,
    /// When it came here.
    updated_at: Timestamp,
}

impl TryFrom<EntryRow> for CatalogueEntry {
    type Error = database::Error;

    fn try_from(row: EntryRow) -> Result<Self, Self::Error> {
        Ok(Self {
            sku: row.sku()?,
            item_id: row.item_id.into(),
            unit_price: row.unit_price()?,
            name: row.name,
            version: row.version,
            updated_at: time(row.updated_at),
        })
    }
}

/// Read the price that orders are placed at.
///
/// A projection of what inventory says: it follows within moments, and its version says how far it is.
#[utoipa::path(
    operation_id = "getCatalogueEntry",
    tag = "catalogue",
    params(("sku" = Sku, Path, description = "The item"), IfNoneMatch),
    responses(
        (status = 200, description = "The item as it is known here", body = CatalogueEntry, headers(
            ("ETag" = String, description = "Its version"),
        )),
        IfNoneMatch,
        ReadProblems,
    ),
    security(("bearer" = [])),
)]
#[get("/v1/catalogue/{sku}")]
pub(crate) async fn get_catalogue_entry(
    who: Principal,
    sku: Segment<Sku>,
    known: IfNoneMatch,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    who.require("orders:read")?;
    let mut connection = edge.database().connection().await?;
    let row = catalogue::find(&mut connection, who.tenant(), &sku.0).await?;
    let row = row.ok_or_else(|| Problem::not_found("item"))?;
    Ok(known.answer(row.version, &CatalogueEntry::try_from(row)?))
}
