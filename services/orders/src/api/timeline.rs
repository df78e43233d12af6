//! `GET /v1/orders/{id}/timeline`

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use contracts::{OrderId, Timestamp};
use edge::{Edge, Principal, Problem, ReadProblems, Segment};
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::views::{OrderStatus, time};
use crate::store::timeline::{self, EntryRow};
use crate::timeline::{Cause, What};

/// One thing that happened to an order.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TimelineEntry {
    /// Its place in the order's timeline, from 1 without gaps.
    #[schema(minimum = 1)]
    sequence: i64,
    /// When it was taken in.
    at: Timestamp,
    /// What happened: something that the others were told, or something that they have said.
    what: What,
    /// Where the order was after it. An order that had ended is where it was.
    state: OrderStatus,
    /// The request, message or job that brought it about.
    cause: Cause,
}

impl TimelineEntry {
    fn new(sequence: i64, row: &EntryRow) -> database::Result<Self> {
        Ok(Self { sequence, at: time(row.at), what: row.what()?, state: row.state()?, cause: row.cause()? })
    }
}

/// What happened to an order.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Timeline {
    /// The order.
    order_id: OrderId,
    /// What happened, in order; the newest is last.
    entries: Vec<TimelineEntry>,
}

/// Read what happened to an order.
///
/// What it told and what it heard, in order, each with the request, message or job that brought it about. What came
/// too late to change anything, such as a capture after the cancellation, is there as well.
#[utoipa::path(
    operation_id = "getOrderTimeline",
    tag = "orders",
    params(("id" = OrderId, Path, description = "The order")),
    responses(
        (status = 200, description = "What happened so far", body = Timeline, example = json!({
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
        ReadProblems,
    ),
    security(("bearer" = [])),
)]
#[get("/v1/orders/{id}/timeline")]
pub(crate) async fn get_timeline(
    who: Principal,
    order: Segment<OrderId>,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    who.require("orders:read")?;
    let Segment(order_id) = order;
    let mut connection = edge.database().connection().await?;
    let rows = timeline::of_order(&mut connection, who.tenant(), order_id).await?;
    let rows = rows.ok_or_else(|| Problem::not_found("order"))?;
    let entries = (1..).zip(&rows).map(|(sequence, row)| TimelineEntry::new(sequence, row));
    let entries = entries.collect::<database::Result<_>>()?;
    Ok(HttpResponse::Ok().json(Timeline { order_id, entries }))
}
