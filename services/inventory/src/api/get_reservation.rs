//! `GET /v1/reservations/{order_id}`: reads the stock that is reserved for an order.

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use contracts::OrderId;
use edge::{Edge, IfNoneMatch, NotFound, Principal, Problem, ReadProblems, Segment};

use crate::store::reservations;
use crate::views::ReservationView;

/// Read the stock that is reserved for an order.
///
/// An order has no reservation until its stock is reserved, and none if its stock was rejected.
#[utoipa::path(
    operation_id = "getReservation",
    tag = "reservations",
    params(("order_id" = OrderId, Path, description = "The order"), IfNoneMatch),
    responses(
        (status = 200, description = "The reservation", body = ReservationView, headers(
            ("ETag" = String, description = "The version of the reservation"),
        )),
        IfNoneMatch,
        NotFound,
        ReadProblems,
    ),
    security(("bearer" = ["inventory:read"])),
)]
#[get("/v1/reservations/{order_id}")]
pub(crate) async fn get_reservation(
    principal: Principal,
    Segment(order): Segment<OrderId>,
    if_none_match: IfNoneMatch,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    principal.require("inventory:read")?;
    let mut connection = edge.database().connection().await?;
    let reservation = reservations::find(&mut connection, principal.tenant(), order).await?;
    let (reservation, version) = reservation.ok_or_else(|| Problem::not_found("reservation"))?;
    Ok(if_none_match.respond(version, &ReservationView::new(order, reservation, version)))
}
