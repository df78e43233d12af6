//! `PUT /v1/items/{sku}`

use actix_web::{HttpResponse, put};
use contracts::events::ItemChanged;
use contracts::{Money, Sku};
use database::Tx;
use edge::{
    Command, CommandError, CommandProblems, CommandRequest, IfMatch, Natural, Problem, Reply, Segment,
    ValidationErrors,
};
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use super::is_text;
use super::views::ItemView;
use crate::domain::Entry;
use crate::store::items::{self, ItemRow};

/// What the catalogue shall say about an item.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PutItem {
    /// What people call it: 1 to 200 characters.
    #[schema(min_length = 1, max_length = 200, examples("Green tea"))]
    name: String,
    /// The price of one; at least 1.
    unit_price: Money,
}

impl Command for PutItem {
    const SCOPE: &'static str = "inventory:write";

    fn validate(&self, errors: &mut ValidationErrors) {
        errors.require(is_text(&self.name), "/name", "a name has 1 to 200 characters, no control characters");
        let price = (1..=Money::MAX).contains(&self.unit_price.amount);
        errors.require(price, "/unit_price/amount", "a price is 1 to 1000000000000 minor units");
    }
}

/// Create an item, or change its name and price.
///
/// New orders pay the new price within moments. A new item has no stock. With `If-Match`, an item is changed only from
/// the version that is named there. The same content again changes nothing and succeeds, whatever version is named: a
/// retry whose first answer was lost finds its request fulfilled.
#[utoipa::path(
    operation_id = "putItem",
    tag = "items",
    params(("sku" = Sku, Path, description = "The item"), IfMatch),
    request_body = PutItem,
    responses(
        (status = 200, description = "It says so now, or did already", body = ItemView, headers(
            ("ETag" = String, description = "The version of name and price"),
        )),
        (status = 201, description = "Created", body = ItemView, headers(
            ("ETag" = String, description = "The version of name and price"),
            ("Location" = String, description = "Where the item is"),
        )),
        IfMatch,
        CommandProblems,
    ),
    security(("bearer" = [])),
)]
#[put("/v1/items/{sku}")]
pub(crate) async fn put_item(
    request: Natural<PutItem>,
    Segment(sku): Segment<Sku>,
    expected: IfMatch,
) -> Result<HttpResponse, Problem> {
    request
        .execute(async move |tx, request| {
            let wished = Entry { name: request.name.clone(), unit_price: request.unit_price };
            if let Some(row) = items::create(tx, request.tenant(), &sku, &wished).await? {
                expected.require(None)?;
                tell(tx, request, &row)?;
                let location = format!("/v1/items/{sku}");
                return Ok(Reply::created(location, &ItemView::try_from(row)?).version(1));
            }
            // There is one, and items never go away.
            let mut row = items::lock(tx, request.tenant(), &sku).await?.ok_or_else(gone)?;
            if let Some(version) = row.entry()?.revised(row.version, &wished) {
                expected.require(Some(row.version))?;
                row = items::revise(tx, row.id(), &wished, version).await?;
                tell(tx, request, &row)?;
            }
            let version = row.version;
            Ok(Reply::ok(&ItemView::try_from(row)?).version(version))
        })
        .await
}

fn gone() -> CommandError {
    CommandError::Refused(Problem::not_found("item"))
}

/// A change is told with the whole item, so that the newest message says it all.
fn tell(tx: &mut Tx, request: &CommandRequest<PutItem>, row: &ItemRow) -> Result<(), CommandError> {
    let (item, sku, version) = (row.id(), row.sku()?, row.version);
    let Entry { name, unit_price } = row.entry()?;
    let details = json!({"sku": sku, "name": name, "unit_price": unit_price, "version": version});
    outbox::append(tx, request.tenant(), version, &ItemChanged { item, sku, name, unit_price, version })?;
    audit::record(tx, request.fact("item.put", "item", item).with(details));
    Ok(())
}
