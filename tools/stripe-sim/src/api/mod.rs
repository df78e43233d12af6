//! The routes: the processor's protocol under `/v1`, and beside it what tests and operators need.

mod broken;
mod call;
mod commands;
mod faults;
mod gate;
mod health;
mod meet;
mod read;
mod resources;
mod webhooks;

use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::from_fn;
use actix_web::{HttpRequest, HttpResponse, web};

use crate::processor::Executed;
use crate::protocol::{Failure, Form, Refusal};
use read::{list, retrieve};
use resources::{BalanceTransactions, Charges, Events, Intents, Refunds};

/// What every handler gives: an object, or a refusal in the protocol's words.
type Reply = Result<HttpResponse, Failure>;

/// All routes of the protocol, as `/_faults` names them.
pub(crate) const ROUTES: &[&str] = &[
    "POST /v1/payment_intents",
    "GET /v1/payment_intents",
    "GET /v1/payment_intents/{id}",
    "POST /v1/payment_intents/{id}/confirm",
    "POST /v1/payment_intents/{id}/capture",
    "POST /v1/payment_intents/{id}/cancel",
    "POST /v1/refunds",
    "GET /v1/refunds",
    "GET /v1/refunds/{id}",
    "GET /v1/charges/{id}",
    "GET /v1/balance_transactions/{id}",
    "GET /v1/events",
    "GET /v1/events/{id}",
];

/// Mounts everything.
pub(crate) fn routes(app: &mut web::ServiceConfig) {
    app.service(
        web::scope("/v1")
            .wrap(from_fn(gate::check))
            .route("/payment_intents", web::post().to(commands::create))
            .route("/payment_intents", web::get().to(list::<Intents>))
            .route("/payment_intents/{id}", web::get().to(retrieve::<Intents>))
            .route("/payment_intents/{id}/confirm", web::post().to(commands::confirm))
            .route("/payment_intents/{id}/capture", web::post().to(commands::capture))
            .route("/payment_intents/{id}/cancel", web::post().to(commands::cancel))
            .route("/refunds", web::post().to(commands::refund))
            .route("/refunds", web::get().to(list::<Refunds>))
            .route("/refunds/{id}", web::get().to(retrieve::<Refunds>))
            .route("/charges/{id}", web::get().to(retrieve::<Charges>))
            .route("/balance_transactions/{id}", web::get().to(retrieve::<BalanceTransactions>))
            .route("/events", web::get().to(list::<Events>))
            .route("/events/{id}", web::get().to(retrieve::<Events>))
            .default_service(web::to(unrecognized)),
    );
    app.service(faults::show).service(faults::set).service(faults::clear);
    app.service(webhooks::show).service(webhooks::set).service(webhooks::clear);
    app.service(health::live).service(health::ready);
    app.default_service(web::to(unrecognized));
}

async fn unrecognized(request: HttpRequest) -> Reply {
    Err(Refusal::unrecognized(request.method().as_str(), request.path()).into())
}

/// The answer on the wire: the stored one says that it is.
fn reply(executed: Executed) -> HttpResponse {
    let mut response = executed.answer.into_response();
    if executed.replayed {
        let (name, value) = (REPLAYED, HeaderValue::from_static("true"));
        response.headers_mut().insert(name, value);
    }
    response
}

/// Says that an answer is the stored one.
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// The parameters of a GET.
fn query(request: &HttpRequest) -> Result<Form, Refusal> {
    Form::parse(request.query_string().as_bytes())
}

/// An id out of a path. One that no object can have is refused before PostgreSQL sees it.
fn id(path: web::Path<String>, object: &str, param: &str) -> Result<String, Refusal> {
    let id = path.into_inner();
    if id.contains('\0') { Err(Refusal::not_found(object, &id, param)) } else { Ok(id) }
}
