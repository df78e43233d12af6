//! The HTTP surface: one endpoint, one file.

mod adjust_stock;
mod get_item;
mod get_reservation;
mod list_items;
mod put_item;
mod views;

use utoipa_actix_web::service_config::ServiceConfig;

/// Mounts every endpoint; the OpenAPI document is made of what is mounted.
pub(crate) fn routes(app: &mut ServiceConfig<'_>) {
    app.service(put_item::put_item)
        .service(adjust_stock::adjust_stock)
        .service(list_items::list_items)
        .service(get_item::get_item)
        .service(get_reservation::get_reservation);
}

/// Whether a text that people wrote has 1 to 200 characters, none of them a control character.
fn is_text(text: &str) -> bool {
    (1..=200).contains(&text.chars().count()) && !text.chars().any(char::is_control)
}
