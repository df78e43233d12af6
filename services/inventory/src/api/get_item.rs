//! `GET /v1/items/{sku}`: reads one item.

use actix_web::http::header::ETAG;
use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use contracts::Sku;
use edge::{Edge, NotFound, Principal, Problem, ReadProblems, Segment, entity_tag};

use crate::store::items;
use crate::views::ItemView;

/// Read an item and its stock.
///
/// The `ETag` is the version of name and price, for the `If-Match` of a change. Because a change of stock does not raise
/// the version, the response is always complete.
#[utoipa::path(
    operation_id = "getItem",
    tag = "items",
    params(("sku" = Sku, Path, description = "The item")),
    responses(
        (status = 200, description = "The item", body = ItemView, headers(
            ("ETag" = String, description = "The version of name and price"),
        )),
        NotFound,
        ReadProblems,
    ),
    security(("bearer" = ["inventory:read"])),
)]
#[get("/v1/items/{sku}")]
pub(crate) async fn get_item(
    principal: Principal,
    Segment(sku): Segment<Sku>,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    principal.require("inventory:read")?;
    let mut connection = edge.database().connection().await?;
    let row = items::find(&mut connection, principal.tenant(), &sku).await?;
    let row = row.ok_or_else(|| Problem::not_found("item"))?;
    let version = (ETAG, entity_tag(row.version));
    Ok(HttpResponse::Ok().insert_header(version).json(ItemView::try_from(row)?))
}
