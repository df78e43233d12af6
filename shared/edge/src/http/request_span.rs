//! `RequestSpan`: the tracing span of each request, its closing line, and the trace context that its events and messages
//! carry.

use std::time::Instant;

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::web::Data;
use actix_web::{Error, HttpMessage, HttpRequest};
use envelope::is_traceparent;
use tracing::Span;
use tracing::field::Empty;
use tracing_actix_web::{DefaultRootSpanBuilder, RequestId, RootSpanBuilder, TracingLogger};
use uuid::Uuid;

use crate::{Edge, Principal, Problem};

/// The middleware that opens the span.
pub fn request_span() -> TracingLogger<RequestSpan> {
    TracingLogger::new()
}

/// Names the span by the route, and every line in it by the request id of the response. The raw path and the query stay out
/// of the log.
pub struct RequestSpan;

/// When the request arrived, by the clock of the process.
struct Arrival(Instant);

/// A valid W3C traceparent.
#[derive(Clone)]
struct TraceParent(String);

impl RequestSpan {
    /// The request's trace context: the client's if it is valid, otherwise a new one.
    pub(crate) fn traceparent(request: &HttpRequest) -> Option<String> {
        request.extensions().get::<TraceParent>().map(|t| t.0.clone())
    }
}

impl RootSpanBuilder for RequestSpan {
    fn on_request_start(request: &ServiceRequest) -> Span {
        // A header that is not text is no valid trace context.
        let header = request.headers().get("traceparent").and_then(|value| value.to_str().ok());
        let received = header.filter(|text| is_traceparent(text));
        request.extensions_mut().insert(Arrival(Instant::now()));
        let id = request.extensions().get::<RequestId>().map(ToString::to_string);
        let route = request.match_pattern().unwrap_or_else(|| "unmatched".to_owned());
        // Known later: the tenant from the token, the hash of the key, and the operation that it names.
        let (trace, tenant, key, operation) = (Empty, Empty, Empty, Empty);
        let span = tracing::info_span!("request", id, method = %request.method(), route, trace, tenant, key, operation);
        traces::follow(&span, received);
        let exported = traces::traceparent(&span);
        let traceparent = exported.or_else(|| received.map(str::to_owned)).unwrap_or_else(new_traceparent);
        span.record("trace", traces::trace_id(&traceparent));
        request.extensions_mut().insert(TraceParent(traceparent));
        span
    }

    fn on_request_end<B: MessageBody>(span: Span, outcome: &Result<ServiceResponse<B>, Error>) {
        if let Ok(response) = outcome {
            if response.status().is_server_error() {
                traces::fail(&span);
            }
            span.in_scope(|| log_end(response));
        }
        DefaultRootSpanBuilder::on_request_end(span, outcome);
    }
}

/// The one line of a request. Without a key, the outcome is `read` or `done`.
fn log_end<B>(response: &ServiceResponse<B>) {
    let Some(left_out) = admit_line(response) else { return };
    let left_out = (left_out > 0).then_some(left_out);
    let arrival = response.request().extensions().get::<Arrival>().map(|arrival| arrival.0);
    // A whole number: the digits of a fraction could look like a card number.
    let microseconds = arrival.and_then(|arrival| u64::try_from(arrival.elapsed().as_micros()).ok());
    let by_key = response.headers().get("Idempotency-Status").and_then(|value| value.to_str().ok());
    let status = response.status();
    let outcome = match by_key {
        Some(outcome) => outcome,
        None if status.is_server_error() => "failed",
        None if status.is_client_error() => "refused",
        None if response.request().method().is_safe() => "read",
        None => "done",
    };
    let (status, refusal) = (status.as_u16(), refusal(response));
    tracing::info!(status, outcome, refusal, microseconds, left_out, "request ended");
}

/// The reason of a refusal before the request counted for a tenant. The text has nothing of the request.
fn refusal<B>(response: &ServiceResponse<B>) -> Option<&str> {
    let problem = response.response().error()?.as_error::<Problem>()?;
    is_refused_early(response).then_some(problem.detail.as_str())
}

/// How many lines were left out before this one, or `None` if this one is left out, too. Only requests that were refused
/// before they counted for a tenant have no line of their own.
fn admit_line<B>(response: &ServiceResponse<B>) -> Option<u64> {
    let edge = response.request().app_data::<Data<Edge>>().filter(|_| is_refused_early(response));
    edge.map_or(Some(0), |edge| edge.limiter.lines.admit())
}

/// Returns whether the request was refused before it counted for a tenant.
fn is_refused_early<B>(response: &ServiceResponse<B>) -> bool {
    response.status().is_client_error() && response.request().extensions().get::<Principal>().is_none()
}

/// A new trace context. The version bits of a UUID keep both ids from being zero.
fn new_traceparent() -> String {
    let trace = Uuid::new_v4().simple().to_string();
    let (parent, _) = Uuid::new_v4().as_u64_pair();
    format!("00-{trace}-{parent:016x}-01")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_traceparent_is_valid() {
        let new = new_traceparent();
        assert!(is_traceparent(&new), "{new}");
    }
}
