//! `GET /v1/orders/{id}`

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use contracts::OrderId;
use edge::{Edge, IfNoneMatch, Principal, Problem, ReadProblems, Segment};

use crate::api::OrderView;
use crate::store::orders;

/// Read an order.
#[utoipa::path(
    operation_id = "getOrder",
    tag = "orders",
    params(("id" = OrderId, Path, description = "The order"), IfNoneMatch),
    responses(
        (status = 200, description = "The order", body = OrderView, headers(
            ("ETag" = String, description = "Its version"),
        )),
        IfNoneMatch,
        ReadProblems,
    ),
    security(("bearer" = [])),
)]
#[get("/v1/orders/{id}")]
pub(crate) async fn get(
    who: Principal,
    order: Segment<OrderId>,
    known: IfNoneMatch,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    who.require("orders:read")?;
    let mut connection = edge.database().connection().await?;
    let row = orders::find(&mut connection, who.tenant(), order.0).await?;
    let view = OrderView::try_from(row.ok_or_else(|| Problem::not_found("order"))?)?;
    Ok(known.answer(view.version, &view))
}
