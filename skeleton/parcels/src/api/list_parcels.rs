//! `GET /v1/parcels`: lists the tenant's parcels, page by page.

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use edge::{Edge, Filter, InvalidQuery, Listing, Page, PageQuery, Principal, Problem, ReadProblems};
use serde::Deserialize;

use crate::store::parcels;
use crate::views::ParcelView;

/// The list has no filter.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
pub(crate) struct AllParcels {}

impl Filter for AllParcels {
    const SCOPE: &'static str = "parcels:read";
}

/// List the tenant's parcels, newest order first.
#[utoipa::path(
    operation_id = "listParcels",
    tag = "parcels",
    params(PageQuery),
    responses((status = 200, description = "A page of parcels", body = Listing<ParcelView>), InvalidQuery, ReadProblems),
    security(("bearer" = ["parcels:read"])),
)]
#[get("/v1/parcels")]
pub(crate) async fn list_parcels(
    principal: Principal,
    page: Page<AllParcels>,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    let mut connection = edge.database().connection().await?;
    let rows = parcels::list(&mut connection, principal.tenant(), page.before(), page.fetch()).await?;
    let listing = page.listing(rows, |row| row.id, |row| Ok::<_, Problem>(ParcelView::from(&row)))?;
    Ok(HttpResponse::Ok().json(listing))
}
