//! `POST /v1/items/{sku}/adjustments`: changes the stock of an item.

use actix_web::{HttpResponse, post};
use contracts::Sku;
use edge::problem_types::NOT_FOUND;
use edge::{
    Command, IdempotencyKey, Idempotent, KeyedProblems, Problem, ProblemType, Reply, Segment,
    ValidationErrors,
};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::schema::{KnownFormat, Object, ObjectBuilder, SchemaFormat, SchemaType, Type};

use crate::error::{STOCK_INSUFFICIENT, STOCK_LIMIT};
use crate::transitions;
use crate::views::AdjustmentView;

/// The largest adjustment, up or down.
const MAX_DELTA: i64 = 1_000_000_000;

/// A change of the pieces on hand: a delivery, a count, a breakage.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdjustStock {
    #[schema(schema_with = delta)]
    delta: i64,
    /// The reason in your words: 1 to 200 characters.
    #[schema(value_type = edge::Text)]
    reason: String,
}

/// The schema of a delta. utoipa has no word for `not`.
fn delta() -> Object {
    ObjectBuilder::new()
        .schema_type(SchemaType::new(Type::Integer))
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
        .minimum(Some(-MAX_DELTA))
        .maximum(Some(MAX_DELTA))
        .description(Some("Pieces to add, or to remove if negative; not 0."))
        .examples([100])
        .extensions(Some(Extensions::from_iter([("not", json!({ "const": 0 }))])))
        .build()
}

/// Change the stock of an item.
///
/// An adjustment cannot remove pieces that are held for orders.
#[utoipa::path(
    operation_id = "adjustStock",
    tag = "items",
    params(("sku" = Sku, Path, description = "The item"), IdempotencyKey),
    request_body = AdjustStock,
    responses(
        (status = 201, description = "The stock was adjusted", body = AdjustmentView, headers(
            ("Location" = String, description = "The path of the item"),
        )),
        KeyedProblems<AdjustStock>,
    ),
    security(("bearer" = ["inventory:write"])),
)]
#[post("/v1/items/{sku}/adjustments")]
pub(crate) async fn adjust_stock(
    command: Idempotent<AdjustStock>,
    Segment(sku): Segment<Sku>,
) -> Result<HttpResponse, Problem> {
    command
        .execute(async move |tx, request| {
            let AdjustStock { delta, reason } = &**request;
            let adjusted = transitions::adjust_stock(tx, request.tenant(), &sku, *delta, reason).await?;
            // Without the reason, because a fact is never changed, and the text of a client can be erased.
            let details = json!({"adjustment": adjusted.id, "sku": sku, "delta": delta});
            audit::record(tx, request.fact("stock.adjust", "item", adjusted.item).with(details));
            let view = AdjustmentView {
                id: adjusted.id,
                sku: sku.clone(),
                delta: *delta,
                reason: reason.clone(),
                on_hand: adjusted.stock.on_hand,
                reserved: adjusted.stock.reserved,
            };
            Ok(Reply::created(format!("/v1/items/{sku}"), &view))
        })
        .await
}

impl Command for AdjustStock {
    const SCOPE: &'static str = "inventory:write";
    const PROBLEMS: &'static [&'static ProblemType] = &[&NOT_FOUND, &STOCK_INSUFFICIENT, &STOCK_LIMIT];

    fn validate(&self, errors: &mut ValidationErrors) {
        let delta = self.delta != 0 && (-MAX_DELTA..=MAX_DELTA).contains(&self.delta);
        errors.require(delta, "/delta", "a delta is -1000000000 to 1000000000, and not 0");
        errors.require_text(&self.reason, "/reason", "reason");
    }
}
