//! The HTTP surface: one endpoint, one file.

mod cancel;
mod catalogue;
mod get;
mod list;
mod place;
mod timeline;
mod views;

use utoipa_actix_web::service_config::ServiceConfig;

pub(crate) use views::OrderView;

/// Mounts every endpoint; the OpenAPI document is made of what is mounted.
pub(crate) fn routes(app: &mut ServiceConfig<'_>) {
    app.service(place::place)
        .service(cancel::cancel)
        .service(list::list)
        .service(get::get)
        .service(timeline::get_timeline)
        .service(catalogue::get_catalogue_entry);
}
