//! The HTTP endpoints, one file each.

mod create_payment;
mod create_refund;
mod get_ledger_balances;
mod get_payment;
mod get_refund;
mod list_payments;
mod list_refunds;
mod receive_webhook;
mod validation;

use utoipa_actix_web::service_config::ServiceConfig;

/// Mounts every endpoint. The OpenAPI document contains the endpoints that are mounted.
pub(crate) fn routes(app: &mut ServiceConfig<'_>) {
    app.service(create_payment::create_payment).service(create_refund::create_refund);
    app.service(list_refunds::list_refunds).service(get_refund::get_refund);
    edge::operations(app, "payments:read", &["payments:write", "payments:refund"]);
    app.service(get_ledger_balances::get_ledger_balances);
    app.service(list_payments::list_payments).service(get_payment::get_payment);
    app.service(receive_webhook::receive_webhook);
}
