//! One case for each rule.

use uuid::Uuid;

use super::Books;
use super::history::{History, Kind, Object, PERIOD, Record, tagged};
use super::model::Money;

const MOVED: [&str; 2] = ["captured", "succeeded"];

/// A record that was sent an hour ago.
fn ours(kind: Kind, state: &'static str) -> Record {
    let record = Record {
        kind,
        id: Uuid::from_u128(1),
        state,
        in_flight: false,
        object: None,
        amount: 1999,
        sent: Some(60),
        changes: false,
    };
    let object = (record.money() == Money::Moved).then(|| own_object(&record));
    Record { object, ..record }
}

fn own_object(record: &Record) -> String {
    match record.kind {
        Kind::Charge => record.intent(),
        Kind::Refund => "re_1".to_owned(),
    }
}

/// The object of this record, with its tag.
fn theirs(record: &Record, status: &'static str) -> Object {
    let (deployment, reference) = tagged(&record.id.to_string());
    Object {
        kind: record.kind,
        id: own_object(record),
        status,
        deployment,
        reference,
        payment_intent: (record.kind == Kind::Refund).then(|| record.intent()),
        amount: 1999,
        currency: "eur",
        created: 60,
    }
}

fn captured() -> Record {
    ours(Kind::Charge, "captured")
}

/// The capture of a payment.
fn capture() -> Object {
    theirs(&captured(), "succeeded")
}

/// A refund that was made in the dashboard.
fn by_hand(id: &str, charge: &Object, amount: i64) -> Object {
    let refund = theirs(&ours(Kind::Refund, "succeeded"), "succeeded");
    let (id, payment_intent) = (id.to_owned(), Some(charge.id.clone()));
    Object { id, payment_intent, amount, deployment: None, reference: None, ..refund }
}

/// Returns the verdicts, sorted, each as often as it was given.
async fn verdicts(books: &Books, objects: &[Object], records: &[Record]) -> Vec<String> {
    let history = History { objects: objects.to_vec(), records: records.to_vec() };
    books.reconcile(&history).await.all_verdicts()
}

#[tokio::test]
async fn every_pair_of_recorded_states_has_its_verdict() {
    let books = Books::new().await;
    let (yes, no, open) = (("captured", "succeeded"), ("declined", "failed"), ("unknown", "pending"));
    for (here, there, of_charge, of_refund) in [
        (yes, "succeeded", "matched", "matched"),
        (yes, "canceled", "missing_there", "unsettled"),
        (yes, "processing", "unsettled", "unsettled"),
        (no, "succeeded", "denied", "denied"),
        (no, "canceled", "matched", "matched"),
        (no, "processing", "unsettled", "unsettled"),
        (open, "succeeded", "unsettled", "unsettled"),
        (open, "canceled", "unsettled", "unsettled"),
        (open, "processing", "pending", "pending"),
    ] {
        for (kind, here, verdict) in [(Kind::Charge, here.0, of_charge), (Kind::Refund, here.1, of_refund)] {
            let ours = ours(kind, here);
            let found = verdicts(&books, &[theirs(&ours, there)], &[ours]).await;
            assert_eq!(found, [verdict], "{kind:?}: here {here}, there {there}");
        }
    }
}

#[tokio::test]
async fn a_record_that_only_we_have_is_missing_there_or_looked_up() {
    let books = Books::new().await;
    let asking = ours(Kind::Charge, "capturing");
    let refunding = Record { in_flight: true, ..ours(Kind::Refund, "pending") };
    for (record, expected) in [
        (captured(), &["missing_there"][..]),
        (ours(Kind::Charge, "unknown"), &["unsettled"]),
        (ours(Kind::Charge, "declined"), &[]),
        (asking.clone(), &["pending"]),
        (refunding, &["pending"]),
        (Record { changes: true, ..captured() }, &[]), // the list was read before
        (Record { sent: Some(PERIOD + 60), ..captured() }, &[]),
        (Record { sent: None, ..ours(Kind::Charge, "requested") }, &[]),
    ] {
        assert_eq!(verdicts(&books, &[], std::slice::from_ref(&record)).await, expected, "{record:?}");
    }
    let moved = theirs(&asking, "succeeded");
    assert_eq!(verdicts(&books, &[moved], &[asking]).await, ["pending"]);
}

#[tokio::test]
async fn an_orphan_is_tagged_as_ours_and_older_than_the_grace_period() {
    let books = Books::new().await;
    for (object, expected) in [
        (capture(), "missing_here"),
        (Object { created: 0, ..capture() }, "young"),
        (Object { status: "processing", ..capture() }, "young"),
        (Object { status: "canceled", ..capture() }, "matched"),
        (Object { deployment: Some("another"), ..capture() }, "foreign"),
        (Object { deployment: None, reference: None, ..capture() }, "foreign"),
        (Object { reference: Some("not even an id".to_owned()), ..capture() }, "missing_here"),
    ] {
        assert_eq!(verdicts(&books, std::slice::from_ref(&object), &[]).await, [expected], "{object:?}");
    }
}

#[tokio::test]
async fn a_second_capture_of_the_same_payment_is_an_orphan() {
    let books = Books::new().await;
    let second = Object { id: "pi_2".to_owned(), ..capture() };
    let found = verdicts(&books, &[capture(), second.clone()], &[captured()]).await;
    assert_eq!(found, ["matched", "missing_here"]);
    let declined = Object { status: "requires_payment_method", ..second };
    assert_eq!(verdicts(&books, &[declined, capture()], &[captured()]).await, ["matched", "matched"]);
}

#[tokio::test]
async fn a_refunded_orphan_is_no_difference() {
    let books = Books::new().await;
    for (amounts, expected) in [
        (&[1999][..], &["matched", "matched"][..]),
        (&[1000, 999], &["matched", "matched", "matched"]),
        (&[1000], &["matched", "missing_here"]),
    ] {
        let refund = |(number, amount): (usize, &i64)| by_hand(&format!("re_{number}"), &capture(), *amount);
        let objects: Vec<Object> =
            [capture()].into_iter().chain(amounts.iter().enumerate().map(refund)).collect();
        assert_eq!(verdicts(&books, &objects, &[]).await, expected, "{amounts:?}");
    }
    let failed = Object { status: "failed", ..by_hand("re_1", &capture(), 1999) };
    assert_eq!(verdicts(&books, &[capture(), failed], &[]).await, ["matched", "missing_here"]);
}

#[tokio::test]
async fn a_refund_made_by_hand_at_the_processor_is_found() {
    let books = Books::new().await;
    let refund = by_hand("re_9", &capture(), 1999);
    let found = verdicts(&books, &[capture(), refund.clone()], &[captured()]).await;
    assert_eq!(found, ["matched", "missing_here"]);
    assert_eq!(verdicts(&books, &[refund], &[]).await, ["foreign"]);
}

#[tokio::test]
async fn another_amount_or_currency_is_a_difference() {
    let books = Books::new().await;
    for other in [Object { amount: 2000, ..capture() }, Object { currency: "usd", ..capture() }] {
        assert_eq!(verdicts(&books, &[other], &[captured()]).await, ["amount_differs"]);
    }
}

#[tokio::test]
async fn an_object_without_its_tag_is_matched_by_its_id() {
    let books = Books::new().await;
    for kind in [Kind::Charge, Kind::Refund] {
        let ours = ours(kind, MOVED[kind as usize]);
        let untagged = Object { deployment: None, reference: None, ..theirs(&ours, "succeeded") };
        assert_eq!(verdicts(&books, &[untagged], &[ours]).await, ["matched"]);
    }
}

/// A request that is retried for hours takes effect much later than it was first sent, and a clock that is behind lists an
/// object before it was sent. Both records are matched, although the object is on another page than its neighbours.
#[tokio::test]
async fn a_record_is_matched_on_whatever_page_it_is_listed() {
    let books = Books::new().await;
    for created in [PERIOD - 1, 1500, 63, 57, 0] {
        let numbers = (1..).zip([58, 59, 60, 61, 62, 400]);
        let records = numbers.map(|(number, sent)| Record {
            id: Uuid::from_u128(number),
            object: Some(format!("pi_{number}")),
            sent: Some(sent),
            ..captured()
        });
        let records: Vec<Record> = records.collect();
        let mut objects: Vec<Object> = records.iter().map(|record| theirs(record, "succeeded")).collect();
        for (object, record) in objects.iter_mut().zip(&records) {
            object.created = record.sent.unwrap();
        }
        objects[2].created = created;
        assert_eq!(verdicts(&books, &objects, &records).await, ["matched"; 6], "created {created} min ago");
    }
}
