//! The page of the OpenAPI document: Swagger UI, with a new idempotency key for each command. It loads nothing from other hosts.

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;

use actix_web::HttpResponse;
use actix_web::body::SizedStream;
use actix_web::guard::Get;
use actix_web::http::header::{CONTENT_SECURITY_POLICY, LOCATION};
use actix_web::web::{self, Bytes, ServiceConfig};
use futures_util::{Stream, stream};
use utoipa_swagger_ui::{Config, serve};

/// So many bytes of a file are copied for a connection.
const SLICE: usize = 16 * 1024;

/// The browser refuses what the page would load or send elsewhere. Swagger UI writes styles into its elements.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Mounts `/docs/`.
pub(super) fn mount(app: &mut ServiceConfig) {
    app.service(
        web::resource("/docs")
            .guard(Get())
            .to(|| async { HttpResponse::PermanentRedirect().insert_header((LOCATION, "/docs/")).finish() }),
    );
    file(app, "/docs/", "text/html; charset=utf-8", include_str!("page.html").into());
    file(app, "/docs/page.js", "text/javascript; charset=utf-8", include_str!("page.js").into());
    for name in ["swagger-ui-bundle.js", "swagger-ui.css", "favicon-32x32.png"] {
        if let Ok(Some(vendored)) = serve(name, Arc::new(Config::default())) {
            file(app, &format!("/docs/{name}"), &vendored.content_type, shared(vendored.bytes));
        }
    }
}

/// All responses share the bytes, and each copies one slice at a time: a client that does not read costs little.
fn file(app: &mut ServiceConfig, path: &str, content_type: &str, bytes: Bytes) {
    let content_type = content_type.to_owned();
    app.service(web::resource(path).guard(Get()).to(move || {
        let mut response = HttpResponse::Ok();
        response.content_type(&*content_type).insert_header((CONTENT_SECURITY_POLICY, POLICY));
        let response = response.body(SizedStream::new(bytes.len() as u64, slices(bytes.clone())));
        async { response }
    }));
}

fn shared(bytes: Cow<'static, [u8]>) -> Bytes {
    match bytes {
        Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        Cow::Owned(bytes) => bytes.into(),
    }
}

fn slices(bytes: Bytes) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let starts = (0..bytes.len()).step_by(SLICE);
    stream::iter(starts.map(move |start| Ok(bytes.slice(start..bytes.len().min(start + SLICE)))))
}
