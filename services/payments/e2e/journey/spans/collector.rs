//! A collector of spans for one test: it receives OTLP over HTTP, and keeps what it receives.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use actix_web::dev::ServerHandle;
use actix_web::rt::System;
use actix_web::{App, HttpResponse, HttpServer, web};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span as ReceivedSpan;
use prost::Message;

/// A span as the collector received it. Ids are in hexadecimal digits.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) service: String,
    pub(crate) name: String,
    pub(crate) trace: String,
    pub(crate) id: String,
    pub(crate) parent: String,
    /// The spans that it has links to.
    pub(crate) links: Vec<String>,
    pub(crate) attributes: BTreeMap<String, String>,
}

impl Span {
    fn of(service: &str, span: ReceivedSpan) -> Self {
        Self {
            service: service.to_owned(),
            name: span.name,
            trace: hex(&span.trace_id),
            id: hex(&span.span_id),
            parent: hex(&span.parent_span_id),
            links: span.links.iter().map(|link| hex(&link.span_id)).collect(),
            attributes: attributes(span.attributes),
        }
    }

    /// `orders: request`
    pub(crate) fn label(&self) -> String {
        format!("{}: {}", self.service, self.name)
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from_digit(digit.into(), 16).unwrap()).collect()
}

fn attributes(received: Vec<KeyValue>) -> BTreeMap<String, String> {
    let text = |value| match value {
        Some(AnyValue { value: Some(Value::StringValue(text)) }) => Some(text),
        _ => None,
    };
    received.into_iter().filter_map(|KeyValue { key, value, .. }| Some((key, text(value)?))).collect()
}

type Received = Arc<Mutex<Vec<Span>>>;

/// One collector on a port of its own. It ends when the test ends.
pub(crate) struct Collector {
    address: String,
    received: Received,
    server: ServerHandle,
}

impl Collector {
    pub(crate) fn start() -> Self {
        let received = Received::default();
        let data = web::Data::from(Arc::clone(&received));
        let app = move || App::new().app_data(data.clone()).route("/v1/traces", web::post().to(receive));
        let server = HttpServer::new(app).workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
        let address = server.addrs()[0].to_string();
        let server = server.run();
        let handle = server.handle();
        std::thread::spawn(move || System::new().block_on(server));
        Self { address, received, server: handle }
    }

    /// The address for the setting `traces.endpoint`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1/traces", self.address)
    }

    /// All spans so far.
    pub(crate) fn spans(&self) -> Vec<Span> {
        self.received.lock().unwrap().clone()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        drop(self.server.stop(false));
    }
}

async fn receive(received: web::Data<Mutex<Vec<Span>>>, body: web::Bytes) -> HttpResponse {
    let Ok(request) = ExportTraceServiceRequest::decode(body) else {
        return HttpResponse::BadRequest().finish();
    };
    for resource in request.resource_spans {
        let of_process = attributes(resource.resource.unwrap_or_default().attributes);
        let service = &of_process["service.name"];
        let spans = resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
        received.lock().unwrap().extend(spans.map(|span| Span::of(service, span)));
    }
    HttpResponse::Ok().finish()
}
