//! `CorsOrigins`: the pages that may call the service from a browser (CORS, by the WHATWG Fetch standard).

use std::str::FromStr;

use actix_cors::{Cors, CorsError};
use actix_web::body::BoxBody;
use actix_web::dev::ServiceResponse;
use actix_web::http::Method;
use actix_web::middleware::Condition;

use crate::{Problem, problem_types};

/// The response headers that a page may read, besides those that the standard always allows.
const EXPOSED: [&str; 9] = [
    "etag",
    "idempotency-original-date",
    "idempotency-status",
    "idempotent-replayed",
    "link",
    "location",
    "retry-after",
    "www-authenticate",
    "x-request-id",
];

/// For how many seconds a browser remembers what is allowed.
const MAX_AGE: usize = 3_600;

/// Origins of pages, such as `https://shop.example`. Without any, a browser lets no page read a response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CorsOrigins(Vec<String>);

impl CorsOrigins {
    /// The middleware. Credentials are tokens in a header, so cookies are not allowed. Any request header is: pages send those of their
    /// own libraries (`tracestate`, `sentry-trace`), and an origin that is trusted with tokens is trusted with those.
    pub(crate) fn middleware(&self) -> Condition<Cors> {
        let cors = Cors::default()
            .allowed_methods([Method::GET, Method::HEAD, Method::POST, Method::PUT])
            .allow_any_header()
            .expose_headers(EXPOSED)
            .max_age(MAX_AGE);
        let cors = self.0.iter().fold(cors, |cors, origin| cors.allowed_origin(origin));
        Condition::new(!self.0.is_empty(), cors)
    }
}

/// Makes a problem of the text by which `actix-cors` refuses a preflight.
pub(super) fn refusal_as_problem(response: ServiceResponse<BoxBody>) -> ServiceResponse<BoxBody> {
    let Some(refused) = response.response().error().and_then(|error| error.as_error::<CorsError>()) else {
        return response;
    };
    let problem = Problem::new(&problem_types::REQUEST_INVALID, format!("{refused} (CORS)."));
    ServiceResponse::from_err(problem, response.into_parts().0)
}

impl FromStr for CorsOrigins {
    type Err = ();

    /// Reads origins that are separated by commas. An origin has a scheme and a host, and no path.
    fn from_str(text: &str) -> Result<Self, ()> {
        let origins = text.split(',').map(str::trim).filter(|origin| !origin.is_empty());
        let origins = origins.map(|origin| {
            let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
            let is_valid =
                host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '*', '?', '#', '@', ' ']));
            if is_valid { Ok(origin.to_owned()) } else { Err(()) }
        });
        origins.collect::<Result<_, ()>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::CorsOrigins;

    #[test]
    fn an_origin_has_a_scheme_and_a_host_and_no_path() {
        let two = "https://shop.example, http://localhost:3000".parse::<CorsOrigins>().unwrap();
        assert_eq!(two.0, ["https://shop.example", "http://localhost:3000"]);
        assert_eq!("".parse(), Ok(CorsOrigins::default()));
        for bad in
            ["*", "null", "shop.example", "https://", "https://shop.example/", "https://*.example", "ftp://a"]
        {
            assert_eq!(bad.parse::<CorsOrigins>(), Err(()), "{bad}");
        }
    }
}
