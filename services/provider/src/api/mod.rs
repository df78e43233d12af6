//! The routes: the processor's protocol under `/v1`, and beside it what tests and operators need.

mod call;
mod faults;
mod gate;
mod health;
mod intents;
mod refunds;
mod withheld;

use actix_web::middleware::from_fn;
use actix_web::{HttpRequest, HttpResponse, web};

use crate::error::{Failure, Refusal};
use crate::form::Form;
use crate::processor::Executed;

/// What every handler gives: an object, or a refusal in the protocol's words.
type Reply = Result<HttpResponse, Failure>;

/// Mounts everything.
pub(crate) fn routes(app: &mut web::ServiceConfig) {
    app.service(
        web::scope("/v1")
            .wrap(from_fn(gate::check))
            .service(intents::create)
            .service(intents::list)
            .service(intents::retrieve)
            .service(intents::cancel)
            .service(refunds::create)
            .service(refunds::list)
            .service(refunds::retrieve)
            .default_service(web::to(unrecognized)),
    );
    app.service(faults::show).service(faults::set).service(faults::clear);
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
        let (name, value) = ("idempotent-replayed", "true");
        response.headers_mut().insert(
            actix_web::http::header::HeaderName::from_static(name),
            actix_web::http::header::HeaderValue::from_static(value),
        );
    }
    response
}

/// The parameters of a GET.
fn query(request: &HttpRequest) -> Result<Form, Refusal> {
    Form::parse(request.query_string().as_bytes())
}

/// An id out of a path. One that no object can have is refused before PostgreSQL sees it.
fn id(path: web::Path<String>, object: &str, param: &str) -> Result<String, Refusal> {
    let id = path.into_inner();
    if id.contains('\0') { Err(Refusal::not_found(object, &id, param)) } else { Ok(id) }
}
