//! `Exporter`: sends the spans of this process to a collector, by OTLP over HTTP.

use std::time::Duration;

use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracerProvider};
use reqwest::blocking::Client;
use reqwest::{Url, redirect};
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

use crate::kinds::WithKinds;

/// The time limit for one batch of spans.
const EXPORT: Duration = Duration::from_secs(5);

/// The time limit for the last batch of a process that ends.
const LAST_EXPORT: Duration = Duration::from_secs(2);

/// Where spans go, and how many.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The collector's address for spans, such as `http://127.0.0.1:4318/v1/traces`.
    pub endpoint: Url,
    /// One new trace of this many is exported, at least 1. A trace that came with a request or message keeps the choice that it
    /// came with.
    pub one_in: u32,
}

/// Sends spans in batches, from a thread of its own. If the collector is away or too slow, spans are lost and nothing waits.
#[derive(Debug, Clone)]
pub struct Exporter {
    provider: SdkTracerProvider,
}

impl Exporter {
    /// Makes the exporter of one process. Not within a tokio runtime, because the client blocks.
    ///
    /// # Errors
    /// There is no HTTP client, for instance without root certificates; or the exporter refuses its settings.
    pub fn new(service: &'static str, settings: &Settings) -> Result<Self, String> {
        // An error means that another client has installed the same provider, so it is ignored.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder().redirect(redirect::Policy::none()).no_proxy().timeout(EXPORT);
        // Plain HTTP needs no root certificates, which a small image does not have.
        let client = if settings.endpoint.scheme() == "http" { client.tls_certs_only([]) } else { client };
        let client = client
            .build()
            .map_err(|error| format!("the HTTP client of the collector cannot be made: {error}"))?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_http_client(client)
            .with_endpoint(settings.endpoint.as_str())
            .with_timeout(EXPORT)
            .build()
            .map_err(|error| format!("spans cannot be exported: {error}"))?;
        let of_new_traces = Sampler::TraceIdRatioBased(1.0 / f64::from(settings.one_in));
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(WithKinds(exporter))
            .with_sampler(Sampler::ParentBased(Box::new(of_new_traces)))
            .with_resource(Resource::builder_empty().with_service_name(service).build())
            .build();
        Ok(Self { provider })
    }

    /// The layer that turns spans and their log lines, at level `info` and above, into spans of a trace.
    pub fn layer<S>(&self) -> impl Layer<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("idem"))
            .with_context_activation(false)
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_filter(LevelFilter::INFO)
    }

    /// Sends the spans that have ended. Blocks for at most two seconds.
    pub fn shut_down(&self) {
        if let Err(error) = self.provider.shutdown_with_timeout(LAST_EXPORT) {
            tracing::warn!(%error, "the last spans may not have reached the collector");
        }
    }
}
