//! `GET /v1/catalogue/{sku}`: reads the price at which orders are placed.

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use contracts::Sku;
use edge::{Edge, IfNoneMatch, NotFound, Principal, Problem, ReadProblems, Segment};

use crate::store::catalogue;
use crate::views::CatalogueEntryView;

/// Read the price at which orders are placed.
///
/// The catalogue is a copy of inventory's items. It follows a change within moments; `version` says which change it
/// has.
#[utoipa::path(
    operation_id = "getCatalogueEntry",
    tag = "catalogue",
    params(("sku" = Sku, Path, description = "The item"), IfNoneMatch),
    responses(
        (status = 200, description = "The item in the catalogue", body = CatalogueEntryView, headers(
            ("ETag" = String, description = "The item's version"),
        )),
        IfNoneMatch,
        NotFound,
        ReadProblems,
    ),
    security(("bearer" = ["orders:read"])),
)]
#[get("/v1/catalogue/{sku}")]
pub(crate) async fn get_catalogue_entry(
    principal: Principal,
    Segment(sku): Segment<Sku>,
    if_none_match: IfNoneMatch,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    principal.require("orders:read")?;
    let mut connection = edge.database().connection().await?;
    let row = catalogue::find(&mut connection, principal.tenant(), &sku).await?;
    let view = CatalogueEntryView::try_from(row.ok_or_else(|| Problem::not_found("item"))?)?;
    Ok(if_none_match.respond(view.version, &view))
}
