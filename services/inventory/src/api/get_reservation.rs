//! `GET /v1/reservations/{order_id}`

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use contracts::OrderId;
use edge::{Edge, IfNoneMatch, Principal, Problem, ReadProblems, Segment};

use super::views::ReservationView;
use crate::store::reservations;

/// Read what an order was promised.
///
/// An order whose stock was refused, or is not reserved yet, has no reservation.
#[utoipa::path(
    operation_id = "getReservation",
    tag = "reservations",
    params(("order_id" = OrderId, Path, description = "The order"), IfNoneMatch),
    responses(
        (status = 200, description = "The reservation", body = ReservationView, headers(
            ("ETag" = String, description = "Its version"),
        )),
        IfNoneMatch,
        ReadProblems,
    ),
    security(("bearer" = [])),
)]
#[get("/v1/reservations/{order_id}")]
pub(crate) async fn get_reservation(
    who: Principal,
    Segment(order): Segment<OrderId>,
    known: IfNoneMatch,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    who.require("inventory:read")?;
    let mut connection = edge.database().connection().await?;
    let reservation = reservations::look_up(&mut connection, who.tenant(), order).await?;
    let (reservation, version) = reservation.ok_or_else(|| Problem::not_found("reservation"))?;
    Ok(known.answer(version, &ReservationView::new(order, reservation, version)))
}
