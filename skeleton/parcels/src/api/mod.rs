//! The HTTP endpoints, one a file. A handler names what a request needs; `edge` adds key, retry and transaction.

mod complete_parcel;
mod list_parcels;

use utoipa_actix_web::service_config::ServiceConfig;

/// Mounts every endpoint. The OpenAPI document consists of the mounted endpoints.
pub(crate) fn routes(app: &mut ServiceConfig<'_>) {
    app.service(complete_parcel::complete_parcel).service(list_parcels::list_parcels);
}
