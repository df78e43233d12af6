//! The HTTP endpoints, one a file. A handler names what a request needs; `edge` adds key, retry and transaction.

mod cancel_order;
mod get_catalogue_entry;
mod get_order;
mod get_timeline;
mod list_orders;
mod place_order;

use utoipa_actix_web::service_config::ServiceConfig;

/// Mounts every endpoint. The OpenAPI document consists of the mounted endpoints.
pub(crate) fn routes(app: &mut ServiceConfig<'_>) {
    app.service(place_order::place_order)
        .service(cancel_order::cancel_order)
        .service(list_orders::list_orders)
        .service(get_order::get_order)
        .service(get_timeline::get_timeline)
        .service(get_catalogue_entry::get_catalogue_entry);
}
