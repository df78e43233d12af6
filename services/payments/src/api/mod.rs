//! The HTTP surface: one endpoint, one file.

mod get_payment;
mod list_payments;
mod views;

use utoipa_actix_web::service_config::ServiceConfig;

/// Mounts every endpoint; the OpenAPI document is made of what is mounted.
pub(crate) fn routes(app: &mut ServiceConfig<'_>) {
    app.service(list_payments::list_payments).service(get_payment::get_payment);
}
