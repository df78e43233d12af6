//! `POST /v1/orders`

use actix_web::web::Data;
use actix_web::{HttpResponse, post};
use contracts::Money;
use contracts::events::{OrderLine, OrderPlaced};
use database::UnitOfWork;
use edge::{Command, CommandProblems, IdempotencyKey, Idempotent, Problem, Reply, ValidationErrors};
use runtime::Context;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::Orders;
use crate::api::OrderView;
use crate::domain::{self, Place};
use crate::store::orders::Terms;
use crate::store::timeline::NewEntry;
use crate::store::{catalogue, orders};
use crate::timeline::{Cause, What};

/// An order to be placed.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlaceOrder {
    /// What is ordered: 1 to 100 lines, each SKU once.
    #[schema(min_items = 1, max_items = 100)]
    lines: Vec<OrderLine>,
    /// The processor's token of the customer's card. Card data never comes here.
    #[schema(pattern = "^pm_[A-Za-z0-9_]{1,100}$", examples("pm_card_visa"))]
    payment_method: String,
    /// Your own reference, 1 to 200 characters.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 200)]
    reference: Option<String>,
    /// What the customer was shown. If the order would cost something else, it is refused.
    #[serde(default)]
    expected_total: Option<Money>,
}

impl Command for PlaceOrder {
    const SCOPE: &'static str = "orders:write";

    fn validate(&self, errors: &mut ValidationErrors) {
        errors.require((1..=100).contains(&self.lines.len()), "/lines", "an order has 1 to 100 lines");
        for (i, line) in self.lines.iter().enumerate() {
            let quantity = (1..=10_000).contains(&line.quantity);
            errors.require(quantity, format!("/lines/{i}/quantity"), "a quantity is 1 to 10000");
            let first = self.lines.iter().take(i).all(|earlier| earlier.sku != line.sku);
            errors.require(
                first,
                format!("/lines/{i}/sku"),
                "each SKU stands on one line; add the quantities up",
            );
        }
        let token = self.payment_method.strip_prefix("pm_").is_some_and(|rest| {
            (1..=100).contains(&rest.len()) && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        });
        errors.require(
            token,
            "/payment_method",
            "a token of the processor: pm_ and 1 to 100 of A-Z a-z 0-9 _",
        );
        let reference = self.reference.as_ref().is_none_or(|text| (1..=200).contains(&text.chars().count()));
        errors.require(reference, "/reference", "a reference has 1 to 200 characters");
    }
}

/// Place an order.
///
/// The order is accepted at once and taken to its end by itself: stock is reserved, the card charged, the order
/// confirmed; or it is cancelled, with the reason. Read it to see where it is.
#[utoipa::path(
    operation_id = "placeOrder",
    tag = "orders",
    params(IdempotencyKey),
    request_body = PlaceOrder,
    responses(
        (status = 201, description = "Accepted", body = OrderView, headers(
            ("Location" = String, description = "Where the order is"),
            ("Idempotency-Status" = String, description = "executed, or replayed"),
        )),
        CommandProblems,
    ),
    security(("bearer" = [])),
)]
#[post("/v1/orders")]
pub(crate) async fn place(
    order: Idempotent<PlaceOrder>,
    context: Data<Context<Orders>>,
) -> Result<HttpResponse, Problem> {
    let expires_in = context.settings.expires_in();
    order
        .execute_in_group(async move |tx, request| {
            let prices =
                catalogue::prices(tx, request.tenant(), request.lines.iter().map(|line| &line.sku)).await?;
            let place = Place { lines: &request.lines, expected_total: request.expected_total };
            let placed = domain::place(place, &prices)?;
            let terms = Terms {
                caller: request.caller(),
                payment_method: &request.payment_method,
                reference: request.reference.as_deref(),
                at: request.at(),
                expires_in,
            };
            let row = orders::insert(tx, &placed, &terms)?;
            let event = OrderPlaced { order: placed.id, lines: request.lines.clone(), total: placed.total };
            outbox::append(tx, request.tenant(), row.sequence, &event)?;
            tx.buffer(NewEntry::of_change(&row, What::OrderPlaced, &Cause::request(request))?);
            audit::record(tx, request.fact("order.place", "order", placed.id));
            Ok(Reply::created(format!("/v1/orders/{}", placed.id), &OrderView::try_from(row)?))
        })
        .await
}
