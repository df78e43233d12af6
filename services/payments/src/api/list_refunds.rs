//! `GET /v1/refunds`

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use edge::{Edge, InvalidQuery, Listing, Page, PageQuery, Principal, Problem, ReadProblems};

use crate::store::refunds;
use crate::views::RefundView;

/// List the tenant's refunds, newest first.
#[utoipa::path(
    operation_id = "listRefunds",
    tag = "refunds",
    params(PageQuery),
    responses((status = 200, description = "A page of refunds", body = Listing<RefundView>), InvalidQuery, ReadProblems),
    security(("bearer" = ["payments:read"])),
)]
#[get("/v1/refunds")]
pub(crate) async fn list_refunds(
    principal: Principal,
    page: Page,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    principal.require("payments:read")?;
    let mut connection = edge.database().connection().await?;
    let rows = refunds::list(&mut connection, principal.tenant(), page.before(), page.fetch()).await?;
    let view = |(row, payment)| RefundView::new(&payment, &row);
    let listing = page.listing(rows, |(row, _)| row.id, view).transposed()?;
    Ok(HttpResponse::Ok().json(listing))
}
