//! `GET /v1/orders`: lists the tenant's orders, page by page.

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use edge::{Edge, InvalidQuery, Listing, Page, PageQuery, Principal, Problem, ReadProblems};

use crate::store::orders;
use crate::views::OrderView;

/// List the tenant's orders, newest first.
#[utoipa::path(
    operation_id = "listOrders",
    tag = "orders",
    params(PageQuery),
    responses((status = 200, description = "A page of orders", body = Listing<OrderView>), InvalidQuery, ReadProblems),
    security(("bearer" = ["orders:read"])),
)]
#[get("/v1/orders")]
pub(crate) async fn list_orders(
    principal: Principal,
    page: Page,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    principal.require("orders:read")?;
    let mut connection = edge.database().connection().await?;
    let rows = orders::list(&mut connection, principal.tenant(), page.before(), page.fetch()).await?;
    let listing = page.listing(rows, |row| row.id, OrderView::try_from).transposed()?;
    Ok(HttpResponse::Ok().json(listing))
}
