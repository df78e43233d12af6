//! `GET /v1/refunds/{id}`

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use contracts::RefundId;
use edge::{Edge, NotFound, Principal, Problem, ReadProblems, Segment};

use crate::store::refunds;
use crate::views::RefundView;

/// Read a refund.
#[utoipa::path(
    operation_id = "getRefund",
    tag = "refunds",
    params(("id" = RefundId, Path, description = "The refund")),
    responses((status = 200, description = "The refund", body = RefundView), NotFound, ReadProblems),
    security(("bearer" = ["payments:read"])),
)]
#[get("/v1/refunds/{id}")]
pub(crate) async fn get_refund(
    principal: Principal,
    refund: Segment<RefundId>,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    principal.require("payments:read")?;
    let mut connection = edge.database().connection().await?;
    let found = refunds::find(&mut connection, principal.tenant(), refund.0).await?;
    let (row, payment) = found.ok_or_else(|| Problem::not_found("refund"))?;
    Ok(HttpResponse::Ok().json(RefundView::new(&payment, &row)?))
}
