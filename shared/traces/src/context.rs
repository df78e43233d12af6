//! The trace context of a span: where it comes from, and what it passes on.

use std::collections::HashMap;

use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{Status, TraceContextExt};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

const TRACEPARENT: &str = "traceparent";

/// Makes `span` a child of the span that wrote this traceparent. Call it before [`traceparent`], [`link`] and the first
/// child of the span. An invalid traceparent changes nothing.
pub fn follow(span: &Span, traceparent: Option<&str>) {
    let Some(text) = traceparent else { return };
    let carrier = HashMap::from([(TRACEPARENT.to_owned(), text.to_owned())]);
    let parent = TraceContextPropagator::new().extract(&carrier);
    if parent.span().span_context().is_valid() {
        // An error means that no spans are exported.
        let _ = span.set_parent(parent);
    }
}

/// Links the span of a transaction that serves several traces, and the span of its work for one of them, with each other.
pub fn link(whole: &Span, part: &Span) {
    let context = |span: &Span| span.context().span().span_context().clone();
    whole.add_link(context(part));
    part.add_link(context(whole));
}

/// Marks `span` as failed. A line at level `error` does the same.
pub fn fail(span: &Span) {
    span.set_status(Status::error(""));
}

/// The W3C traceparent of `span`, or `None` if spans are not exported.
pub fn traceparent(span: &Span) -> Option<String> {
    let mut carrier = HashMap::new();
    TraceContextPropagator::new().inject_context(&span.context(), &mut carrier);
    carrier.remove(TRACEPARENT)
}

/// The trace id of a traceparent, for log lines.
pub fn trace_id(traceparent: &str) -> Option<&str> {
    traceparent.split('-').nth(1)
}

/// The traceparent of the span in which the caller runs, or `None` if spans are not exported.
pub fn current() -> Option<String> {
    traceparent(&Span::current())
}
