//! `HttpMetrics`: the requests of the public listener by route, method and status, their duration, and the open connections.
//!
//! The labels are bounded: a route is a template of the service, and an unusual method counts as `other`.

use std::time::Instant;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::middleware::Next;
use actix_web::{Error, web};
use metrics::{Counter, Family, Gauge, Histogram, Registry, seconds_buckets};

type Labels<const N: usize> = [(&'static str, String); N];

/// Cheap to clone; all clones count together.
#[derive(Clone)]
pub(crate) struct HttpMetrics {
    requests: Family<Labels<3>, Counter>,
    durations: Family<Labels<2>, Histogram>,
    connections: Gauge,
}

impl Default for HttpMetrics {
    fn default() -> Self {
        let durations =
            Family::new_with_constructor((|| Histogram::new(seconds_buckets())) as fn() -> Histogram);
        Self { requests: Family::default(), durations, connections: Gauge::default() }
    }
}

impl HttpMetrics {
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register("http_requests", "Requests that got a response", self.requests.clone());
        let help = "Time from the head of a request to the head of its response";
        registry.register("http_request_duration_seconds", help, self.durations.clone());
        registry.register("http_connections", "Open connections of clients", self.connections.clone());
    }

    /// Counts a connection as open until the value is dropped.
    pub(crate) fn open_connection(&self) -> OpenConnection {
        self.connections.inc();
        OpenConnection(self.connections.clone())
    }
}

pub(crate) struct OpenConnection(Gauge);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Middleware: counts each request that gets a response. A request whose client disconnects before has none.
pub(crate) async fn count_request(
    metrics: web::Data<HttpMetrics>,
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let arrival = Instant::now();
    let route = request.match_pattern().unwrap_or_else(|| "unmatched".to_owned());
    let method = name(request.method()).to_owned();
    let result = next.call(request).await;
    let status = match &result {
        Ok(response) => response.status(),
        Err(error) => error.as_response_error().status_code(),
    };
    let labels = [("route", route), ("method", method)];
    metrics.durations.get_or_create(&labels).observe(arrival.elapsed().as_secs_f64());
    let [route, method] = labels;
    let labels = [route, method, ("status", status.as_str().to_owned())];
    metrics.requests.get_or_create(&labels).inc();
    result
}

fn name(method: &Method) -> &str {
    match *method {
        Method::GET
        | Method::HEAD
        | Method::POST
        | Method::PUT
        | Method::DELETE
        | Method::PATCH
        | Method::OPTIONS => method.as_str(),
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_that_a_client_makes_up_is_no_label() {
        assert_eq!(name(&Method::POST), "POST");
        assert_eq!(name(&Method::from_bytes(b"PEEK").unwrap()), "other");
    }
}
