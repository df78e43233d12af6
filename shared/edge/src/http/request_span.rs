//! `RequestSpan`: the tracing span of each request, and the trace context that its events and messages carry.

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::{Error, HttpMessage, HttpRequest};
use tracing::Span;
use tracing_actix_web::{DefaultRootSpanBuilder, RootSpanBuilder, TracingLogger};
use uuid::Uuid;

/// The middleware that opens the span.
pub fn request_span() -> TracingLogger<RequestSpan> {
    TracingLogger::new()
}

/// Names the span by the route. The raw path and the query stay out of the log.
pub struct RequestSpan;

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
        let (traceparent, trace) = header.and_then(accept_traceparent).unwrap_or_else(new_traceparent);
        request.extensions_mut().insert(TraceParent(traceparent));
        let route = request.match_pattern().unwrap_or_else(|| "unmatched".to_owned());
        tracing::info_span!("request", method = %request.method(), route, trace, status = tracing::field::Empty)
    }

    fn on_request_end<B: MessageBody>(span: Span, outcome: &Result<ServiceResponse<B>, Error>) {
        if let Ok(response) = outcome {
            span.record("status", response.status().as_u16());
        }
        DefaultRootSpanBuilder::on_request_end(span, outcome);
    }
}

/// Accepts `00-<32 hex>-<16 hex>-<2 hex>` with both ids non-zero. Returns the text and its trace id. Source: W3C Trace
/// Context.
fn accept_traceparent(text: &str) -> Option<(String, String)> {
    let parts: Vec<&str> = text.split('-').collect();
    let hex = |part: &str, length| {
        part.len() == length && part.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    let [version, trace, parent, flags] = parts[..] else { return None };
    let is_valid = version == "00"
        && hex(trace, 32)
        && hex(parent, 16)
        && hex(flags, 2)
        && trace.bytes().any(|b| b != b'0')
        && parent.bytes().any(|b| b != b'0');
    is_valid.then(|| (text.to_owned(), trace.to_owned()))
}

/// A new trace context with its trace id. The version bits of a UUID keep both ids from being zero.
fn new_traceparent() -> (String, String) {
    let trace = Uuid::new_v4().simple().to_string();
    let (parent, _) = Uuid::new_v4().as_u64_pair();
    (format!("00-{trace}-{parent:016x}-01"), trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_valid_traceparent_is_taken_over() {
        assert!(accept_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").is_some());
        let (traceparent, trace) = new_traceparent();
        assert_eq!(accept_traceparent(&traceparent), Some((traceparent, trace)));
        for bad in [
            "",
            "x",
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        ] {
            assert_eq!(accept_traceparent(bad), None, "{bad}");
        }
    }
}
