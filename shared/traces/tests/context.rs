#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! The trace context that a span takes over and passes on.

use traces::{Exporter, Settings, current, follow, trace_id, traceparent};
use tracing::info_span;
use tracing::subscriber::with_default;
use tracing_subscriber::prelude::*;

const SAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const NOT_SAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

/// Runs `test` where spans are exported, to a collector that is away.
fn exporting(one_in: u32, test: impl FnOnce()) {
    let settings = Settings { endpoint: "http://127.0.0.1:1/v1/traces".parse().unwrap(), one_in };
    let exporter = Exporter::new("test", &settings).unwrap();
    with_default(tracing_subscriber::registry().with(exporter.layer()), test);
}

/// The traceparent of a span that follows `received`.
fn passed_on(received: Option<&str>) -> String {
    let span = info_span!("span");
    follow(&span, received);
    traceparent(&span).unwrap()
}

#[test]
fn a_span_passes_on_the_trace_that_it_follows_and_its_own_id() {
    exporting(1, || {
        let own = passed_on(Some(SAMPLED));
        assert_eq!(trace_id(&own), trace_id(SAMPLED));
        assert_ne!(own, SAMPLED, "the parent of what it causes is the span");
        let outer = info_span!("outer");
        follow(&outer, Some(SAMPLED));
        assert_eq!(outer.in_scope(current), traceparent(&outer));
        let inner = outer.in_scope(|| traceparent(&info_span!("inner"))).unwrap();
        assert_eq!(trace_id(&inner), trace_id(SAMPLED));
    });
}

#[test]
fn an_invalid_traceparent_begins_a_new_trace() {
    exporting(1, || {
        for invalid in [None, Some(""), Some("00-00000000000000000000000000000000-b7ad6b7169203331-01")] {
            let own = passed_on(invalid);
            assert_eq!(trace_id(&own).unwrap().len(), 32, "{own}");
            assert_ne!(trace_id(&own), Some("00000000000000000000000000000000"));
        }
    });
}

#[test]
fn a_trace_keeps_the_choice_that_it_came_with() {
    let is_sampled = |traceparent: &str| traceparent.ends_with("-01");
    exporting(1, || {
        assert!(is_sampled(&passed_on(None)));
        assert!(!is_sampled(&passed_on(Some(NOT_SAMPLED))));
    });
    exporting(u32::MAX, || {
        assert!(is_sampled(&passed_on(Some(SAMPLED))));
        assert!(!is_sampled(&passed_on(None)), "one new trace of four thousand million is sampled");
    });
}

#[test]
fn where_spans_are_not_exported_they_have_no_context() {
    with_default(tracing_subscriber::registry(), || {
        let span = info_span!("span");
        follow(&span, Some(SAMPLED));
        assert_eq!((traceparent(&span), span.in_scope(current)), (None, None));
    });
}
