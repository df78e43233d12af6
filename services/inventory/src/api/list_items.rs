//! `GET /v1/items`: lists the tenant's items, page by page.

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use edge::{Edge, Filter, InvalidQuery, Listing, Page, PageQuery, Principal, Problem, ReadProblems};
use serde::Deserialize;

use crate::store::items;
use crate::views::ItemView;

/// The list has no filter.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
pub(crate) struct AllItems {}

impl Filter for AllItems {
    const SCOPE: &'static str = "inventory:read";
}

/// List the tenant's items, newest first.
#[utoipa::path(
    operation_id = "listItems",
    tag = "items",
    params(PageQuery),
    responses((status = 200, description = "A page of items", body = Listing<ItemView>), InvalidQuery, ReadProblems),
    security(("bearer" = ["inventory:read"])),
)]
#[get("/v1/items")]
pub(crate) async fn list_items(
    principal: Principal,
    page: Page<AllItems>,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    let mut connection = edge.database().connection().await?;
    let rows = items::list(&mut connection, principal.tenant(), page.before(), page.fetch()).await?;
    let listing = page.listing(rows, |row| row.position, ItemView::try_from)?;
    Ok(HttpResponse::Ok().json(listing))
}
