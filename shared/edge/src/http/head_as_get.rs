//! Middleware that answers HEAD like GET (RFC 9110, section 9.3.2). actix-web sends the headers without the body.

use actix_web::Error;
use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::middleware::Next;

/// Finds the route of a HEAD request as if it were a GET. The connection remembers that the body is not sent.
///
/// # Errors
/// Those of the service behind it.
pub async fn head_as_get(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    if request.method() == Method::HEAD {
        request.head_mut().method = Method::GET;
    }
    next.call(request).await
}
