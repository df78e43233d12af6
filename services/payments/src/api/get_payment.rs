//! `GET /v1/payments/{id}`

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use contracts::PaymentId;
use edge::{Edge, NotFound, Principal, Problem, ReadProblems, Segment};

use crate::store::{payments, refunds};
use crate::views::PaymentView;

/// Read a payment and its refunds.
#[utoipa::path(
    operation_id = "getPayment",
    tag = "payments",
    params(("id" = PaymentId, Path, description = "The payment")),
    responses((status = 200, description = "The payment", body = PaymentView), NotFound, ReadProblems),
    security(("bearer" = ["payments:read"])),
)]
#[get("/v1/payments/{id}")]
pub(crate) async fn get_payment(
    principal: Principal,
    payment: Segment<PaymentId>,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    principal.require("payments:read")?;
    let mut connection = edge.database().connection().await?;
    let row = payments::find(&mut connection, principal.tenant(), payment.0).await?;
    let row = row.ok_or_else(|| Problem::not_found("payment"))?;
    let refunds = refunds::of_payments(&mut connection, &[row.id]).await?;
    Ok(HttpResponse::Ok().json(PaymentView::new(&row, &refunds)?))
}
