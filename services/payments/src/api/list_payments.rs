//! `GET /v1/payments`

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use edge::{Edge, InvalidQuery, Listing, Page, PageQuery, Principal, Problem, ReadProblems};
use uuid::Uuid;

use crate::store::{payments, refunds};
use crate::views::PaymentView;

/// List the tenant's payments, newest first.
#[utoipa::path(
    operation_id = "listPayments",
    tag = "payments",
    params(PageQuery),
    responses((status = 200, description = "A page of payments", body = Listing<PaymentView>), InvalidQuery, ReadProblems),
    security(("bearer" = ["payments:read"])),
)]
#[get("/v1/payments")]
pub(crate) async fn list_payments(
    principal: Principal,
    page: Page,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    principal.require("payments:read")?;
    let mut connection = edge.database().connection().await?;
    let rows = payments::list(&mut connection, principal.tenant(), page.before(), page.fetch()).await?;
    let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
    let refunds = refunds::of_payments(&mut connection, &ids).await?;
    let listing = page.listing(rows, |row| row.id, |row| PaymentView::new(&row, &refunds)).transposed()?;
    Ok(HttpResponse::Ok().json(listing))
}
