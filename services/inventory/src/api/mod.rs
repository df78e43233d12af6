//! The HTTP endpoints, one a file. A handler names what a request needs; `edge` adds key, retry and transaction.

mod adjust_stock;
mod get_item;
mod get_reservation;
mod list_items;
mod put_item;

use utoipa_actix_web::service_config::ServiceConfig;

/// Mounts every endpoint. The OpenAPI document consists of the mounted endpoints.
pub(crate) fn routes(app: &mut ServiceConfig<'_>) {
    app.service(put_item::put_item)
        .service(adjust_stock::adjust_stock)
        .service(list_items::list_items)
        .service(get_item::get_item)
        .service(get_reservation::get_reservation);
}
