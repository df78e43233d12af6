//! `PUT /v1/items/{sku}`: creates an item, or changes its name and price.

use actix_web::{HttpResponse, put};
use contracts::{Money, Sku};
use edge::problem_types::NOT_FOUND;
use edge::{
    Command, Natural, NaturalProblems, Precondition, Problem, ProblemType, Reply, Segment, ValidationErrors,
};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::domain::ItemDetails;
use crate::transitions::{self, PutItem as Put};
use crate::views::ItemView;

/// The name and the price that an item shall have.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PutItem {
    /// The item's name for people: 1 to 200 characters.
    #[schema(value_type = edge::Text)]
    name: String,
    /// The price of one piece; at least 1.
    unit_price: Money,
}

/// Create an item, or change its name and price.
///
/// New orders have the new price within moments. A new item has no stock. With `If-Match`, an item changes only if it
/// has the named version. A request with the item's present name and price changes nothing and succeeds, even if
/// it names another version: a retry succeeds even if the first response was lost. With `If-None-Match: *`, the item is
/// only created.
#[utoipa::path(
    operation_id = "putItem",
    tag = "items",
    params(("sku" = Sku, Path, description = "The item"), Precondition),
    request_body = PutItem,
    responses(
        (status = 200, description = "The item has this name and price", body = ItemView, headers(
            ("ETag" = String, description = "The version of name and price"),
        )),
        (status = 201, description = "The item was created", body = ItemView, headers(
            ("ETag" = String, description = "The version of name and price"),
            ("Location" = String, description = "The path of the item"),
        )),
        Precondition,
        NaturalProblems<PutItem>,
    ),
    security(("bearer" = ["inventory:write"])),
)]
#[put("/v1/items/{sku}")]
pub(crate) async fn put_item(
    command: Natural<PutItem>,
    Segment(sku): Segment<Sku>,
    precondition: Precondition,
) -> Result<HttpResponse, Problem> {
    command
        .execute(async move |tx, request| {
            let details = ItemDetails { name: request.name.clone(), unit_price: request.unit_price };
            let put = transitions::put_item(tx, request.tenant(), &sku, &details, &precondition).await?;
            if let Put::Created(row) | Put::Changed(row) = &put {
                let ItemDetails { name, unit_price } = details;
                let details =
                    json!({"sku": sku, "name": name, "unit_price": unit_price, "version": row.version});
                audit::record(tx, request.fact("item.put", "item", row.id()).with(details));
            }
            Ok(match put {
                Put::Created(row) => {
                    Reply::created(format!("/v1/items/{sku}"), &ItemView::try_from(row)?).version(1)
                }
                Put::Changed(row) | Put::Unchanged(row) => {
                    let version = row.version;
                    Reply::ok(&ItemView::try_from(row)?).version(version)
                }
            })
        })
        .await
}

impl Command for PutItem {
    const SCOPE: &'static str = "inventory:write";
    const PROBLEMS: &'static [&'static ProblemType] = &[&NOT_FOUND];

    fn validate(&self, errors: &mut ValidationErrors) {
        errors.require_text(&self.name, "/name", "name");
        let price = (1..=Money::MAX).contains(&self.unit_price.amount);
        errors.require(price, "/unit_price/amount", "a price is 1 to 1000000000000 minor units");
    }
}
