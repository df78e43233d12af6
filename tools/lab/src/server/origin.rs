//! Refuses requests of other pages: the lab stops servers, so only its own page may press its buttons.
//!
//! `Host` must name the loopback, because a foreign name that resolves to it (DNS rebinding) would make a foreign page one of the
//! same origin. A POST must have the lab's own `Origin`, which a browser sends with each and no page can choose.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{HOST, HeaderName, ORIGIN};
use actix_web::middleware::Next;
use actix_web::{Error, HttpResponse};

/// Passes on a request of the lab's own page at this port; answers others with 403.
pub(super) async fn check(
    port: u16,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    match refusal(port, &request) {
        None => Ok(next.call(request).await?.map_into_boxed_body()),
        Some(reason) => Ok(request.into_response(HttpResponse::Forbidden().body(reason))),
    }
}

fn refusal(port: u16, request: &ServiceRequest) -> Option<&'static str> {
    let host = header(request, HOST);
    let own = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"));
    if !own.iter().any(|name| name == host) {
        return Some("the header Host does not name the lab: use the printed address");
    }
    if *request.method() != Method::GET && header(request, ORIGIN) != format!("http://{host}") {
        return Some("only the page of the lab may press its buttons: the header Origin is another one");
    }
    None
}

fn header(request: &ServiceRequest, name: HeaderName) -> &str {
    request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}
