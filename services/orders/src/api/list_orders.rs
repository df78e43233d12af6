//! `GET /v1/orders`: lists the tenant's orders, page by page.

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use edge::{
    Edge, Filter, InvalidQuery, Listing, Page, PageQuery, Principal, Problem, ReadProblems, ValidationErrors,
};
use serde::{Deserialize, Deserializer};

use crate::domain::Status;
use crate::store::orders;
use crate::views::{OrderStatusView, OrderView};

/// Which orders the list contains.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct OrderFilter {
    /// Only orders with this reference of yours.
    #[param(nullable = false, value_type = Option<edge::Text>)]
    reference: Option<String>,
    /// Only orders with this status.
    #[serde(default, deserialize_with = "status")]
    #[param(nullable = false, value_type = Option<OrderStatusView>)]
    status: Option<Status>,
}

fn status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Status>, D::Error> {
    OrderStatusView::deserialize(deserializer).map(Some)
}

impl Filter for OrderFilter {
    const SCOPE: &'static str = "orders:read";

    fn validate(&self, errors: &mut ValidationErrors) {
        if let Some(reference) = &self.reference {
            errors.require_words(reference, "reference", "reference");
        }
    }
}

/// List the tenant's orders, newest first.
#[utoipa::path(
    operation_id = "listOrders",
    tag = "orders",
    params(PageQuery, OrderFilter),
    responses((status = 200, description = "A page of orders", body = Listing<OrderView>), InvalidQuery, ReadProblems),
    security(("bearer" = ["orders:read"])),
)]
#[get("/v1/orders")]
pub(crate) async fn list_orders(
    principal: Principal,
    page: Page<OrderFilter>,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    let mut connection = edge.database().connection().await?;
    let OrderFilter { reference, status } = page.filter();
    let filter = (reference.as_deref(), *status);
    let rows = orders::list(&mut connection, principal.tenant(), filter, page.before(), page.fetch()).await?;
    let listing = page.listing(rows, |row| row.id, OrderView::try_from)?;
    Ok(HttpResponse::Ok().json(listing))
}
