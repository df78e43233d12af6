//! One trace leads from a request through all services.

mod collector;

use std::collections::BTreeSet;

use collector::{Collector, Span};
use e2e::{Customer, Options, Order, Stack};
use serde_json::Value;

const SAMPLED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const NOT_SAMPLED: &str = "00-1bf7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

/// The spans from the client's to `last`, each with its parent before it.
fn way_to<'s>(spans: &'s [Span], last: &'s Span) -> Vec<&'s Span> {
    let mut way = vec![last];
    while let Some(parent) = spans.iter().find(|span| span.id == way[0].parent) {
        way.insert(0, parent);
    }
    way
}

#[tokio::test(flavor = "multi_thread")]
async fn one_trace_leads_from_the_request_over_outbox_and_kafka_to_the_processors_call() {
    let collector = Collector::start();
    let mut stack = Stack::with(Options { collector: Some(collector.url()), ..Options::default() }).await;
    let customer = Customer::stocked(&stack, 100).await;
    customer.buys(1).await; // orders knows the item now
    for traceparent in [SAMPLED, NOT_SAMPLED] {
        let order = customer.tea(1).with_header("traceparent", traceparent);
        let order = customer.send(&order).await.read::<Order>(201).unwrap();
        customer.sees(order.id, "confirmed").await;
    }
    stack.settled().await;
    // A process that ends sends its last spans.
    stack.stop_services().await;
    let all = collector.spans();
    let trace = |traceparent: &str| traceparent.split('-').nth(1).unwrap().to_owned();
    let spans: Vec<Span> = all.iter().filter(|span| span.trace == trace(SAMPLED)).cloned().collect();

    let call = spans.iter().find(|span| span.name == "processor_call").expect("a call of the processor");
    let way = way_to(&spans, call);
    let labels: Vec<String> = way.iter().map(|span| span.label()).collect();
    assert_eq!(
        labels,
        [
            "orders: POST /v1/orders",
            "orders: command",
            "orders: transition",
            "inventory: message orders.OrderPlaced.v1",
            "inventory: transition",
            "orders: message inventory.StockReserved.v1",
            "orders: transition",
            "payments: message orders.PaymentRequested.v1",
            "payments: attempt",
            "payments: processor_call",
        ]
    );
    assert_eq!(way[0].parent, SAMPLED.split('-').nth(2).unwrap(), "the client's span");

    // Each event is published in the trace in which it was appended.
    let published = |kind: &str| spans.iter().find(|span| span.name == format!("publish {kind}"));
    for (kind, appended_by) in [
        ("orders.OrderPlaced.v1", way[2]),
        ("inventory.StockReserved.v1", way[4]),
        ("orders.PaymentRequested.v1", way[6]),
    ] {
        assert_eq!(published(kind).expect(kind).parent, appended_by.id, "{kind}");
    }
    assert!(published("payments.PaymentCaptured.v1").is_some(), "what the call causes is in the trace");

    // One transaction serves the commands of many clients, and one batch the messages of many traces.
    for (part, whole) in [(way[1], "orders: transaction"), (way[3], "inventory: batch")] {
        let whole = all.iter().find(|span| span.label() == whole && part.links.contains(&span.id)).unwrap();
        assert!(whole.trace != part.trace, "{} has a trace of its own", whole.name);
        assert!(whole.links.contains(&part.id), "{whole:?} has no link to {part:?}");
    }

    assert_eq!(way[0].attributes["tenant"], customer.tenant());
    assert!(way[0].attributes.contains_key("operation") && way[0].attributes.contains_key("id"));
    assert!(all.iter().all(|span| span.trace != trace(NOT_SAMPLED)), "the client has chosen not to sample");
}

/// The fields of a log line: its own and those of its spans.
fn fields(line: &str) -> BTreeSet<String> {
    let line: Value = serde_json::from_str(line).unwrap();
    let spans = line["spans"].as_array().into_iter().flatten();
    spans.chain([&line]).flat_map(|fields| fields.as_object().unwrap().keys().cloned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_line_of_an_order_names_its_tenant_its_trace_and_its_request_message_or_call() {
    let mut stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 100).await;
    customer.buys(1).await;
    stack.settled().await;
    for (service, line, expected) in [
        ("orders", "\"status\":201,\"outcome\":\"executed\"", &["id", "operation"][..]),
        ("orders", "MessageRelayed", &["event_id"]),
        ("orders", "OrderMoved", &["consumer", "message_id", "order"]),
        ("inventory", "\"status\":201,\"outcome\":\"done\"", &["id", "operation"]),
        ("inventory", "MessageConsumed", &["consumer", "message_id"]),
        ("payments", "AttemptStarted", &["payment", "call", "attempt"]),
        ("payments", "PaymentMoved", &["payment", "call"]),
        ("payments", "LedgerPosted", &["payment"]),
    ] {
        let log = stack.program(service).log();
        let lines: Vec<&str> = log.lines().filter(|text| text.contains(line)).collect();
        assert!(!lines.is_empty(), "{service} wrote no line {line}");
        for text in lines {
            let fields = fields(text);
            for name in expected.iter().chain(&["tenant", "trace"]) {
                assert!(fields.contains(*name), "{service} wrote a line without {name}: {text}");
            }
        }
    }
}
