//! One span for each request, and the trace context that goes on with what it causes.

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

/// Names the span by the route, never by the raw path or the query.
pub struct RequestSpan;

#[derive(Clone)]
struct TraceParent(String);

impl RequestSpan {
    /// The request's trace context: the client's if it sent a valid one, else a new one.
    pub(crate) fn traceparent(request: &HttpRequest) -> Option<String> {
        request.extensions().get::<TraceParent>().map(|t| t.0.clone())
    }
}

impl RootSpanBuilder for RequestSpan {
    fn on_request_start(request: &ServiceRequest) -> Span {
        let sent = request.headers().get("traceparent").and_then(|value| value.to_str().ok());
        let traceparent =
            sent.filter(|text| is_traceparent(text)).map_or_else(new_traceparent, str::to_owned);
        let trace = traceparent.split('-').nth(1).unwrap_or_default().to_owned();
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

/// `00-<32 hex>-<16 hex>-<2 hex>`, neither id all zero. Source: W3C Trace Context.
fn is_traceparent(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let hex = |part: &str, length| {
        part.len() == length && part.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    let [version, trace, parent, flags] = parts[..] else { return false };
    version == "00"
        && hex(trace, 32)
        && hex(parent, 16)
        && hex(flags, 2)
        && trace.bytes().any(|b| b != b'0')
        && parent.bytes().any(|b| b != b'0')
}

fn new_traceparent() -> String {
    let parent = Uuid::new_v4().simple().to_string();
    format!("00-{}-{}-01", Uuid::new_v4().simple(), parent.get(..16).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_valid_traceparent_is_taken_over() {
        assert!(is_traceparent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
        assert!(is_traceparent(&new_traceparent()));
        for bad in [
            "",
            "x",
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
        ] {
            assert!(!is_traceparent(bad), "{bad}");
        }
    }
}
