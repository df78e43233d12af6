//! `GET /v1/refunds`

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use edge::{Edge, Filter, InvalidQuery, Listing, Page, PageQuery, Principal, Problem, ReadProblems};
use serde::Deserialize;

use crate::store::refunds;
use crate::views::RefundView;

/// The list has no filter.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
pub(crate) struct AllRefunds {}

impl Filter for AllRefunds {
    const SCOPE: &'static str = "payments:read";
}

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
    page: Page<AllRefunds>,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    let mut connection = edge.database().connection().await?;
    let rows = refunds::list(&mut connection, principal.tenant(), page.before(), page.fetch()).await?;
    let view = |(row, payment)| RefundView::new(&payment, &row);
    let listing = page.listing(rows, |(row, _)| row.id, view)?;
    Ok(HttpResponse::Ok().json(listing))
}
