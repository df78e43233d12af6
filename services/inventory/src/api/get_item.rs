//! `GET /v1/items/{sku}`

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use contracts::Sku;
use edge::{Edge, Principal, Problem, ReadProblems, Segment};

use super::views::ItemView;
use crate::store::items;

/// Read an item and its stock.
#[utoipa::path(
    operation_id = "getItem",
    tag = "items",
    params(("sku" = Sku, Path, description = "The item")),
    responses((status = 200, description = "The item", body = ItemView), ReadProblems),
    security(("bearer" = [])),
)]
#[get("/v1/items/{sku}")]
pub(crate) async fn get_item(
    who: Principal,
    Segment(sku): Segment<Sku>,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    who.require("inventory:read")?;
    let mut connection = edge.database().connection().await?;
    let row = items::find(&mut connection, who.tenant(), &sku).await?;
    let view = ItemView::try_from(row.ok_or_else(|| Problem::not_found("item"))?)?;
    Ok(HttpResponse::Ok().json(view))
}
