//! The question to the database of parcels finds its damage.

use database::Database;
use envelope::Topics;
use parcels::Parcels;
use runtime::{Context, Service as _};
use testkit::{Damage, SoundDatabase, TestDatabase, assert_needs_no_scan};

/// One completed and one open parcel.
const SOUND: &str = "
    INSERT INTO parcel (id, tenant_id, order_id, state, note, sequence)
    VALUES (id(1), 't', id(2), 'completed', 'done', 1), (id(3), 't', id(4), 'open', NULL, 0);
    INSERT INTO outbox_event (event_id, topic, partition_key, aggregate_type, aggregate_id, sequence, type, source,
                              tenant_id, payload)
    VALUES (id(11), 'parcels.events', id(1), 'parcel', id(1), 1, 'parcels.ParcelCompleted.v1', 'parcels', 't', '{}');";

const DAMAGES: &[Damage] = &[
    ("a_completed_parcel_is_announced", "DELETE FROM outbox_event"),
    (
        "a_completed_parcel_is_announced",
        "UPDATE parcel SET state = 'completed', sequence = 1 WHERE id = id(3)",
    ),
    (
        "a_completed_parcel_is_announced",
        "UPDATE parcel SET state = 'open', note = NULL, sequence = 0 WHERE id = id(1)",
    ),
];

#[tokio::test]
async fn every_audit_of_parcels_finds_its_damage() {
    let questions = services::named("parcels").unwrap().audits;
    SoundDatabase::with(Parcels::migrations(), &[SOUND]).await.sees(questions, DAMAGES).await;
}

#[tokio::test]
async fn the_explanation_of_an_order_reads_no_table_from_end_to_end() {
    let database = TestDatabase::with(vec![Parcels::migrations()]).await;
    assert_needs_no_scan(&database, services::named("parcels").unwrap().explain, "uuid").await;
}

/// The audits expect each message of these streams in its inbox.
#[tokio::test]
async fn the_description_names_the_streams_that_the_consumer_reads() {
    let database = TestDatabase::plain().await;
    let database = Database::clone(&database);
    let topics = Topics::of("unused");
    let consumer = Parcels::consumer(&Context { database, topics, settings: () }).unwrap();
    let streams: Vec<&str> = consumer.streams().iter().map(|stream| stream.name()).collect();
    assert_eq!(streams, services::named("parcels").unwrap().reads);
}
