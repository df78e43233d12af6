//! `POST /v1/items/{sku}/adjustments`

use actix_web::{HttpResponse, post};
use contracts::Sku;
use edge::{
    Command, CommandError, CommandProblems, IdempotencyKey, Idempotent, Problem, Reply, Segment,
    ValidationErrors, problem_types,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use uuid::Uuid;

use super::is_text;
use crate::domain::reservation::Stocks;
use crate::store::{items, movements};

/// How far one adjustment may go, either way.
const FURTHEST: i64 = 1_000_000_000;

/// A change of what is on hand: a delivery, a count, a breakage.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdjustStock {
    /// How many more, or fewer if negative; not 0.
    #[schema(minimum = -1_000_000_000, maximum = 1_000_000_000, examples(100))]
    delta: i64,
    /// Why, in your words: 1 to 200 characters.
    #[schema(min_length = 1, max_length = 200, examples("delivery 4711"))]
    reason: String,
}

impl Command for AdjustStock {
    const SCOPE: &'static str = "inventory:write";

    fn validate(&self, errors: &mut ValidationErrors) {
        let delta = self.delta != 0 && (-FURTHEST..=FURTHEST).contains(&self.delta);
        errors.require(delta, "/delta", "a delta is -1000000000 to 1000000000, and not 0");
        errors.require(
            is_text(&self.reason),
            "/reason",
            "a reason has 1 to 200 characters, no control characters",
        );
    }
}

/// An adjustment, and the stock right after it.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Adjustment)]
pub(crate) struct AdjustmentView {
    /// Its id.
    id: Uuid,
    /// The item.
    sku: Sku,
    /// How many more, or fewer if negative.
    delta: i64,
    /// Why.
    reason: String,
    /// In the building.
    on_hand: i64,
    /// Held for orders; part of `on_hand`.
    reserved: i64,
}

/// Change how many of an item are on hand.
///
/// Never below what is held for orders.
#[utoipa::path(
    operation_id = "adjustStock",
    tag = "items",
    params(("sku" = Sku, Path, description = "The item"), IdempotencyKey),
    request_body = AdjustStock,
    responses(
        (status = 201, description = "Adjusted", body = AdjustmentView, headers(
            ("Location" = String, description = "The item"),
            ("Idempotency-Status" = String, description = "executed, or replayed"),
        )),
        CommandProblems,
    ),
    security(("bearer" = [])),
)]
#[post("/v1/items/{sku}/adjustments")]
pub(crate) async fn adjust_stock(
    request: Idempotent<AdjustStock>,
    Segment(sku): Segment<Sku>,
) -> Result<HttpResponse, Problem> {
    request
        .execute(async move |tx, request| {
            let row = items::lock(tx, request.tenant(), &sku).await?.ok_or_else(|| unknown(&sku))?;
            let stock = row.stock().adjust(request.delta)?;
            items::set_stock(tx, &Stocks::from([(row.id(), stock)])).await?;
            let id =
                movements::record_adjustment(tx, request.tenant(), row.id(), request.delta, &request.reason)
                    .await?;
            let details =
                json!({"adjustment": id, "sku": sku, "delta": request.delta, "reason": request.reason});
            audit::record(tx, request.fact("stock.adjust", "item", row.id()).with(details));
            let view = AdjustmentView {
                id,
                sku: sku.clone(),
                delta: request.delta,
                reason: request.reason.clone(),
                on_hand: stock.on_hand,
                reserved: stock.reserved,
            };
            Ok(Reply::created(format!("/v1/items/{sku}"), &view))
        })
        .await
}

fn unknown(sku: &Sku) -> CommandError {
    CommandError::rejected(
        &problem_types::NOT_FOUND,
        format!("There is no item {sku}. Put it first, then adjust with a new key."),
    )
}
