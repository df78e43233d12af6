//! The audit finds lost, invented, changed and disordered messages.

use contracts::streams;
use envelope::{Envelope, Timestamp};

use super::*;

const ORDER: Uuid = Uuid::from_u128(7);

fn row(sequence: i64) -> Row {
    Row {
        event_id: id(sequence),
        topic: streams::ORDERS.topic(),
        partition_key: ORDER,
        aggregate_id: ORDER,
        sequence,
        kind: "orders.OrderPlaced.v1".to_owned(),
        payload: b"{}".to_vec(),
    }
}

fn id(sequence: i64) -> Uuid {
    Uuid::from_u128(100 + u128::try_from(sequence).unwrap())
}

fn message(sequence: i64, offset: i64) -> TopicMessage {
    let envelope = Envelope {
        id: id(sequence).into(),
        kind: "orders.OrderPlaced.v1".to_owned(),
        source: "orders".to_owned(),
        aggregate: ORDER,
        sequence,
        time: Timestamp::from_rfc3339("2026-11-20T12:00:00Z"),
        tenant: "t".parse().unwrap(),
        traceparent: None,
    };
    TopicMessage {
        stream: streams::ORDERS,
        envelope,
        key: Some(ORDER),
        payload: b"{}".to_vec(),
        partition: 0,
        offset,
    }
}

fn readers_of_orders() -> impl Iterator<Item = Database> {
    readers().filter(|(_, stream)| *stream == streams::ORDERS).map(|(reader, _)| reader)
}

/// Two events, published, one of them twice, and entered by each reader.
fn delivered() -> Delivery {
    Delivery {
        rows: vec![row(1), row(2)],
        published: vec![message(1, 0), message(2, 1), message(1, 2)],
        entered: readers_of_orders().map(|reader| (reader, vec![id(1), id(2)])).collect(),
    }
}

#[test]
fn a_repeat_is_counted_and_is_no_violation() {
    let delivered = delivered();
    let found = [delivered.unpublished(), delivered.disordered(), delivered.unconsumed()].concat();
    assert_eq!(
        (delivered.repeats(), delivered.entered(), found),
        (1, 2 * readers_of_orders().count(), Vec::<String>::new())
    );
}

#[test]
fn a_lost_invented_or_changed_message_is_a_violation() {
    let breaks: [fn(&mut Delivery); 4] = [
        |d| d.rows.push(row(3)),
        |d| d.published.push(message(3, 3)),
        |d| d.rows[0].payload = b"[]".to_vec(),
        |d| d.rows[1].partition_key = Uuid::nil(),
    ];
    for (number, break_it) in breaks.into_iter().enumerate() {
        let mut delivery = delivered();
        break_it(&mut delivery);
        assert_eq!(delivery.unpublished().len(), 1, "break {number}");
    }
}

#[test]
fn first_occurrences_out_of_order_are_a_violation() {
    let mut delivery = delivered();
    delivery.published = vec![message(2, 0), message(1, 1), message(2, 2)];
    assert_eq!(delivery.disordered().len(), 1);
    delivery.published = vec![message(1, 0), TopicMessage { partition: 1, ..message(2, 1) }];
    assert_eq!(delivery.disordered().len(), 1, "two partitions");
}

#[test]
fn a_message_without_an_inbox_entry_is_a_violation() {
    let mut delivery = delivered();
    let reader = readers_of_orders().next().unwrap();
    delivery.entered.insert(reader, vec![id(2)]);
    assert_eq!(delivery.unconsumed().len(), 1);
}
