#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! The wire form of every event, locked in files. To change one on purpose: edit the file in `tests/golden/`.

use std::path::Path;

use contracts::events::*;
use contracts::*;
use envelope::{Envelope, Event, MessageParked, TenantId, Timestamp, Topics};
use uuid::Uuid;

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

fn golden<E: Event + PartialEq + std::fmt::Debug>(event: &E) -> &'static str {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{}.json", E::TYPE));
    let file = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let expected: serde_json::Value = serde_json::from_str(&file).unwrap();
    let envelope = Envelope {
        id: id(1).into(),
        kind: E::TYPE.to_owned(),
        source: E::STREAM.name().to_owned(),
        aggregate: event.aggregate(),
        sequence: 1,
        time: Timestamp::from_rfc3339("2026-11-20T12:00:00.000000Z"),
        tenant: "demo".parse().unwrap(),
        traceparent: Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned()),
    };
    let headers: serde_json::Map<_, _> =
        envelope.to_headers().into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    let actual = serde_json::json!({ "key": event.key(), "headers": headers, "data": event });
    assert_eq!(actual, expected, "the wire form of {} changed ({})", E::TYPE, path.display());

    let read: E = serde_json::from_value(expected["data"].clone()).unwrap();
    assert_eq!(&read, event, "{} does not survive the way back", E::TYPE);
    let lookup = |name: &str| expected["headers"][name].as_str().map(str::as_bytes);
    assert_eq!(Envelope::from_headers(lookup).unwrap(), envelope);
    E::TYPE
}

#[test]
fn every_event_has_the_wire_form_of_its_golden_file() {
    let (order, payment, refund) = (OrderId::from(id(10)), PaymentId::from(id(20)), RefundId::from(id(30)));
    let sku: Sku = "TEA-1".parse().unwrap();
    let tenant: TenantId = "demo".parse().unwrap();
    let total = Money::new(1999, Currency::Eur);
    let seen = [
        golden(&OrderPlaced { order, lines: vec![OrderLine { sku: sku.clone(), quantity: 2 }], total }),
        golden(&PaymentRequested {
            order,
            payment,
            amount: total,
            payment_method: "pm_card_visa".to_owned(),
            expires_at: Timestamp::from_rfc3339("2026-11-20T12:15:00.000000Z"),
        }),
        golden(&OrderConfirmed { order, payment }),
        golden(&OrderCancelled { order, reason: CancelReason::Customer }),
        golden(&StockReserved { order }),
        golden(&StockRejected { order, missing: vec![sku.clone()] }),
        golden(&StockShipped { order }),
        golden(&StockReleased { order }),
        golden(&ItemChanged {
            item: ItemId::of(&tenant, &sku),
            sku,
            name: "Green tea".to_owned(),
            unit_price: Money::new(450, Currency::Eur),
            version: 3,
        }),
        golden(&PaymentCaptured { payment, order: Some(order), amount: total }),
        golden(&PaymentDeclined { payment, order: Some(order), code: "generic_decline".to_owned() }),
        golden(&PaymentCancelled { payment, order: None }),
        golden(&PaymentRefunded { payment, order: Some(order), refund, amount: total }),
        golden(&PaymentRefundFailed {
            payment,
            order: Some(order),
            refund,
            amount: total,
            code: "lost_or_stolen_card".to_owned(),
        }),
    ];
    let files =
        std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")).unwrap().count();
    // One more file: the copy of a parked message, which belongs to no stream.
    assert_eq!(files, seen.len() + 1, "a golden file without an event, or an event without a file");
}

#[test]
fn the_copy_of_a_parked_message_has_the_wire_form_of_its_golden_file() {
    let kind = MessageParked::kind("orders");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{kind}.json"));
    let file = std::fs::read_to_string(path).unwrap();
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let copy = MessageParked {
        consumer: "orders".to_owned(),
        topic: "inventory.events".to_owned(),
        partition: 3,
        offset: 42,
        message_id: id(1),
        source: "inventory".to_owned(),
        aggregate_id: id(10),
        sequence: 2,
        error: "no handler for messages of type inventory.StockFried.v1".to_owned(),
        headers: vec![pair("ce_type", "inventory.StockFried.v1"), pair("ce_tenant", "demo")],
        payload_bytes: 2,
        payload_base64: Some("e30=".to_owned()),
        payload_sha256: None,
    };
    let expected: serde_json::Value = serde_json::from_str(&file).unwrap();
    assert_eq!(serde_json::json!(copy), expected);
    assert_eq!(serde_json::from_value::<MessageParked>(expected).unwrap(), copy);
    assert_eq!(Topics::of("t").dead_letters("orders"), "t.orders.dlq");
}
