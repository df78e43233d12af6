//! `GET /v1/orders/{id}/timeline`: reads what happened to an order.

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use contracts::OrderId;
use edge::{Edge, NotFound, Principal, Problem, ReadProblems, Segment};

use crate::store::timeline;
use crate::views::TimelineView;

/// Read what happened to an order.
///
/// The timeline has an entry for every event that the order published or received, with the request, message or job
/// that caused it. An event that came too late to change the order, such as a capture after the cancellation, has an
/// entry as well.
#[utoipa::path(
    operation_id = "getOrderTimeline",
    tag = "orders",
    params(("id" = OrderId, Path, description = "The order")),
    responses(
        (status = 200, description = "The timeline so far", body = TimelineView, example = json!({
            "order_id": "019aa1c0-5c3e-7d52-9d0f-3a3f6f6f2b11",
            "entries": [
                {
                    "sequence": 1, "at": "2026-11-20T12:00:00.000000Z", "what": "OrderPlaced", "state": "pending",
                    "cause": {"kind": "request", "id": "019aa1c0-5c3c-7a10-8a51-6f0e2b7c9d01", "by": "web-shop"},
                },
                {
                    "sequence": 2, "at": "2026-11-20T12:00:00.012000Z", "what": "StockReserved", "state": "awaiting_payment",
                    "cause": {"kind": "message", "id": "019aa1c0-5c44-7e3b-b0aa-51c1d2e3f402", "by": "inventory"},
                },
                {
                    "sequence": 3, "at": "2026-11-20T12:00:00.012000Z", "what": "PaymentRequested", "state": "awaiting_payment",
                    "cause": {"kind": "message", "id": "019aa1c0-5c44-7e3b-b0aa-51c1d2e3f402", "by": "inventory"},
                },
                {
                    "sequence": 4, "at": "2026-11-20T12:15:00.310000Z", "what": "OrderCancelled", "state": "cancelled",
                    "cause": {"kind": "job", "id": "019aa1ce-182a-7c08-9f5e-7d1b0c6a4e03", "by": "@system"},
                },
                {
                    "sequence": 5, "at": "2026-11-20T12:15:01.022000Z", "what": "PaymentCaptured", "state": "cancelled",
                    "cause": {"kind": "message", "id": "019aa1ce-1ad5-7b91-8c37-2e4f6a8b0c04", "by": "payments"},
                },
            ],
        })),
        NotFound,
        ReadProblems,
    ),
    security(("bearer" = ["orders:read"])),
)]
#[get("/v1/orders/{id}/timeline")]
pub(crate) async fn get_timeline(
    principal: Principal,
    Segment(id): Segment<OrderId>,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    principal.require("orders:read")?;
    let mut connection = edge.database().connection().await?;
    let rows = timeline::of_order(&mut connection, principal.tenant(), id).await?;
    let rows = rows.ok_or_else(|| Problem::not_found("order"))?;
    Ok(HttpResponse::Ok().json(TimelineView::new(id, rows)))
}
