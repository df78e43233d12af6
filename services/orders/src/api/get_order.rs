//! `GET /v1/orders/{id}`: reads one order.

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use contracts::OrderId;
use edge::{Edge, IfNoneMatch, NotFound, Principal, Problem, ReadProblems, Segment};

use crate::store::orders;
use crate::views::OrderView;

/// Read an order.
#[utoipa::path(
    operation_id = "getOrder",
    tag = "orders",
    params(("id" = OrderId, Path, description = "The order"), IfNoneMatch),
    responses(
        (status = 200, description = "The order", body = OrderView, headers(
            ("ETag" = String, description = "The order's version"),
        )),
        IfNoneMatch,
        NotFound,
        ReadProblems,
    ),
    security(("bearer" = ["orders:read"])),
)]
#[get("/v1/orders/{id}")]
pub(crate) async fn get_order(
    principal: Principal,
    Segment(id): Segment<OrderId>,
    if_none_match: IfNoneMatch,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    principal.require("orders:read")?;
    let mut connection = edge.database().connection().await?;
    let row = orders::find(&mut connection, principal.tenant(), id).await?;
    let view = OrderView::try_from(row.ok_or_else(|| Problem::not_found("order"))?)?;
    Ok(if_none_match.respond(view.version, &view))
}
