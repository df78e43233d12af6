//! The HTTP surface: one endpoint, one file.

mod create_payment;
mod create_refund;
mod get_ledger_balances;
mod get_payment;
mod get_refund;
mod list_payments;
mod list_refunds;
mod rules;
mod views;

use utoipa_actix_web::service_config::ServiceConfig;

use crate::webhooks::receive_event;

pub(crate) use views::{PaymentView, RefundView};

/// Mounts every endpoint; the OpenAPI document is made of what is mounted.
pub(crate) fn routes(app: &mut ServiceConfig<'_>) {
    app.service(create_payment::create_payment).service(create_refund::create_refund);
    app.service(list_refunds::list_refunds).service(get_refund::get_refund);
    edge::operations(app, "payments:read");
    app.service(get_ledger_balances::get_ledger_balances);
    app.service(list_payments::list_payments).service(get_payment::get_payment).service(receive_event);
}
