//! Names each span as OpenTelemetry's readers expect it, on its way to the collector. The fields of a span stay free of it,
//! because each log line shows them.

use std::time::Duration;

use opentelemetry::trace::SpanKind;
use opentelemetry_otlp::SpanExporter as OtlpExporter;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

/// An exporter of spans with their kinds.
#[derive(Debug)]
pub(crate) struct WithKinds(pub(crate) OtlpExporter);

impl SpanExporter for WithKinds {
    async fn export(&self, mut batch: Vec<SpanData>) -> OTelSdkResult {
        batch.iter_mut().for_each(set_kind);
        self.0.export(batch).await
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.0.set_resource(resource);
    }
}

/// Sets the kind. A request is named by its method and route, and a message by what is done with its type.
fn set_kind(span: &mut SpanData) {
    let (kind, parts): (_, &[&str]) = match span.name.as_ref() {
        "request" => (SpanKind::Server, &["method", "route"]),
        "publish" => (SpanKind::Producer, &["kind"]),
        "message" => (SpanKind::Consumer, &["kind"]),
        "processor_call" => (SpanKind::Client, &[]),
        _ => return,
    };
    span.span_kind = kind;
    let value = |name: &&str| {
        let attribute = span.attributes.iter().find(|attribute| attribute.key.as_str() == *name);
        attribute.map(|attribute| attribute.value.to_string())
    };
    let mut words: Vec<String> = parts.iter().filter_map(value).collect();
    if span.name != "request" {
        words.insert(0, span.name.to_string());
    }
    span.name = words.join(" ").into();
}
