//! The routes: Stripe's API under `/v1`, and beside it `/_faults`, `/_webhooks` and health.

mod body;
mod call;
mod commands;
mod control;
mod faults;
mod middleware;
mod read;

use actix_web::http::header::HeaderName;
use actix_web::middleware::from_fn;
use actix_web::{HttpRequest, HttpResponse, web};

use crate::protocol::{ApiError, Error};

/// The result of every handler under `/v1`.
type Reply = Result<HttpResponse, Error>;

/// The routes of Stripe's API, as `/_faults` names them.
pub(crate) const ROUTES: &[&str] = &[
    "POST /v1/payment_intents",
    "GET /v1/payment_intents",
    "GET /v1/payment_intents/{id}",
    "POST /v1/payment_intents/{id}/capture",
    "POST /v1/payment_intents/{id}/cancel",
    "POST /v1/refunds",
    "GET /v1/refunds",
    "GET /v1/refunds/{id}",
    "GET /v1/events",
    "GET /v1/events/{id}",
];

/// Marks a stored response that is sent again.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// Mounts every route.
pub(crate) fn routes(app: &mut web::ServiceConfig) {
    app.service(
        web::scope("/v1")
            .wrap(from_fn(middleware::handle))
            .route("/payment_intents", web::post().to(commands::create))
            .route("/payment_intents/{id}/capture", web::post().to(commands::capture))
            .route("/payment_intents/{id}/cancel", web::post().to(commands::cancel))
            .route("/refunds", web::post().to(commands::refund))
            .route("/{objects}", web::get().to(read::list))
            .route("/{objects}/{id}", web::get().to(read::retrieve))
            .default_service(web::to(unrecognized)),
    );
    app.service(control::show_faults).service(control::set_faults).service(control::clear_faults);
    app.service(control::show_endpoints).service(control::add_endpoint).service(control::clear_endpoints);
    app.service(control::live).service(control::ready);
    app.default_service(web::to(unrecognized));
}

async fn unrecognized(request: HttpRequest) -> Reply {
    Err(ApiError::unrecognized(request.method().as_str(), request.path()).into())
}
