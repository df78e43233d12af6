//! `POST /v1/orders`: places an order, at the prices of the catalogue.

use std::collections::HashSet;

use actix_web::web::Data;
use actix_web::{HttpResponse, post};
use contracts::events::OrderLine;
use contracts::{Money, PaymentMethod};
use edge::{
    Command, IdempotencyKey, Idempotent, KeyedProblems, Problem, ProblemType, Reply, ValidationErrors,
};
use runtime::Context;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::domain::{Cause, price};
use crate::error::{CURRENCY_MIXED, ITEM_UNKNOWN, PRICE_CHANGED, TOTAL_TOO_LARGE};
use crate::store::catalogue;
use crate::store::orders::NewOrder;
use crate::views::OrderView;
use crate::{Orders, transitions};

/// An order to place.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlaceOrder {
    /// The items and their quantities: 1 to 100 lines, each SKU on one line.
    #[schema(min_items = 1, max_items = 100)]
    lines: Vec<OrderLine>,
    /// The processor's token for the customer's card. Never send card data.
    #[schema(value_type = PaymentMethod)]
    payment_method: String,
    /// Your own reference, 1 to 200 characters.
    #[serde(default, deserialize_with = "edge::not_null")]
    #[schema(nullable = false, value_type = Option<edge::Text>)]
    reference: Option<String>,
    /// The total that the customer was shown. The order is rejected if its total is another one.
    #[serde(default, deserialize_with = "edge::not_null")]
    #[schema(nullable = false)]
    expected_total: Option<Money>,
}

/// Place an order.
///
/// The response comes at once. The order then proceeds without further requests: its stock is reserved, the card is
/// charged, and the order is confirmed; or the order is cancelled with a reason. Read the order to see its status.
#[utoipa::path(
    operation_id = "placeOrder",
    tag = "orders",
    params(IdempotencyKey),
    request_body = PlaceOrder,
    responses(
        (status = 201, description = "The order was accepted", body = OrderView, headers(
            ("Location" = String, description = "The path of the order"),
        )),
        KeyedProblems<PlaceOrder>,
    ),
    security(("bearer" = ["orders:write"])),
)]
#[post("/v1/orders")]
pub(crate) async fn place_order(
    command: Idempotent<PlaceOrder>,
    context: Data<Context<Orders>>,
) -> Result<HttpResponse, Problem> {
    let expiry = context.settings.expiry;
    command
        .execute_in_group(async move |tx, request| {
            let prices = catalogue::prices(tx, request.tenant(), &request.lines).await?;
            let priced = price(&request.lines, &prices, request.expected_total)?; // pure; a Rejection becomes a 4xx
            let new = NewOrder {
                caller: request.caller(),
                priced,
                payment_method: &request.payment_method,
                reference: request.reference.as_deref(),
                placed_at: request.at(),
                expires_at: request.at() + expiry,
            };
            let cause = Cause::request(request.operation(), request.caller());
            let order = transitions::place(tx, &new, &cause)?; // row, event and timeline entry
            audit::record(tx, request.fact("order.place", "order", order.id()));
            Ok(Reply::created(format!("/v1/orders/{}", order.id()), &OrderView::try_from(order)?))
        })
        .await
}

impl Command for PlaceOrder {
    const SCOPE: &'static str = "orders:write";
    const PROBLEMS: &'static [&'static ProblemType] =
        &[&ITEM_UNKNOWN, &CURRENCY_MIXED, &PRICE_CHANGED, &TOTAL_TOO_LARGE];

    fn validate(&self, errors: &mut ValidationErrors) {
        errors.require((1..=100).contains(&self.lines.len()), "/lines", "an order has 1 to 100 lines");
        let mut seen = HashSet::new();
        for (i, line) in self.lines.iter().enumerate() {
            let quantity = (1..=10_000).contains(&line.quantity);
            errors.require(quantity, format!("/lines/{i}/quantity"), "a quantity is 1 to 10000");
            let first = seen.insert(&line.sku);
            errors.require(first, format!("/lines/{i}/sku"), "each SKU has one line; add the quantities up");
        }
        errors.require_parsed::<PaymentMethod>(&self.payment_method, "/payment_method");
        if let Some(reference) = &self.reference {
            errors.require_reference(reference, "/reference");
        }
    }
}
