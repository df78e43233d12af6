//! `GET /v1/items`

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use edge::{Edge, Listing, Page, PageQuery, Principal, Problem, ReadProblems};

use super::views::ItemView;
use crate::store::items;

/// List the tenant's items, newest first.
#[utoipa::path(
    operation_id = "listItems",
    tag = "items",
    params(PageQuery),
    responses((status = 200, description = "A page of items", body = Listing<ItemView>), ReadProblems),
    security(("bearer" = [])),
)]
#[get("/v1/items")]
pub(crate) async fn list_items(
    who: Principal,
    page: Page,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    who.require("inventory:read")?;
    let mut connection = edge.database().connection().await?;
    let rows = items::list(&mut connection, who.tenant(), &page).await?;
    let listing = page.listing(rows, |row| row.position, ItemView::try_from).transposed()?;
    Ok(HttpResponse::Ok().json(listing))
}
