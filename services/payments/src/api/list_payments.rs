//! `GET /v1/payments`

use actix_web::web::Data;
use actix_web::{HttpResponse, get};
use contracts::OrderId;
use edge::{
    Edge, Filter, InvalidQuery, Listing, Page, PageQuery, Principal, Problem, ReadProblems, ValidationErrors,
};
use serde::Deserialize;
use uuid::Uuid;

use crate::store::{payments, refunds};
use crate::views::PaymentView;

/// Which payments the list contains.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PaymentFilter {
    /// Only the payment of this order.
    #[param(nullable = false)]
    order_id: Option<OrderId>,
    /// Only payments with this reference of yours.
    #[param(nullable = false, value_type = Option<edge::Text>)]
    reference: Option<String>,
}

impl Filter for PaymentFilter {
    const SCOPE: &'static str = "payments:read";

    fn validate(&self, errors: &mut ValidationErrors) {
        if let Some(reference) = &self.reference {
            errors.require_words(reference, "reference", "reference");
        }
    }
}

/// List the tenant's payments, newest first.
#[utoipa::path(
    operation_id = "listPayments",
    tag = "payments",
    params(PageQuery, PaymentFilter),
    responses((status = 200, description = "A page of payments", body = Listing<PaymentView>), InvalidQuery, ReadProblems),
    security(("bearer" = ["payments:read"])),
)]
#[get("/v1/payments")]
pub(crate) async fn list_payments(
    principal: Principal,
    page: Page<PaymentFilter>,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    let mut connection = edge.database().connection().await?;
    let PaymentFilter { order_id, reference } = page.filter();
    let filter = (*order_id, reference.as_deref());
    let rows =
        payments::list(&mut connection, principal.tenant(), filter, page.before(), page.fetch()).await?;
    let ids: Vec<Uuid> = rows.iter().map(|row| row.id).collect();
    let refunds = refunds::of_payments(&mut connection, &ids).await?;
    let listing = page.listing(rows, |row| row.id, |row| PaymentView::new(&row, &refunds))?;
    Ok(HttpResponse::Ok().json(listing))
}
