//! Every pair of what the two books may say about the same money.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::books::{Entry, Kind, Moved, Row};
use super::compare::{Books, Verdict, compare};

const OLD: DateTime<Utc> = DateTime::UNIX_EPOCH;
const ID: Uuid = Uuid::from_u128(1);

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_000_000, 0).unwrap()
}

fn entry(kind: Kind, id: &str, moved: Moved) -> Entry {
    Entry {
        kind,
        id: id.to_owned(),
        is_marked: true,
        reference: Some(ID),
        parent: None,
        amount: 1999,
        currency: "EUR".to_owned(),
        moved,
        created: Some(OLD),
    }
}

fn row(kind: Kind, moved: Moved) -> Row {
    let object = match kind {
        Kind::Charge => "pi_1",
        Kind::Refund => "re_1",
    };
    Row {
        kind,
        id: ID,
        payment: ID.into(),
        tenant: "acme".parse().unwrap(),
        amount: 1999,
        currency: "EUR".to_owned(),
        moved,
        under_way: false,
        object: (moved == Moved::Yes).then(|| object.to_owned()),
        must_be_listed: true,
    }
}

/// The verdicts' names, in order.
fn names(entries: &[Entry], rows: &[Row]) -> Vec<&'static str> {
    let verdicts = compare(&Books { entries, rows, young_since: now() });
    verdicts
        .iter()
        .map(|(_, verdict)| match verdict {
            Verdict::Matched => "matched",
            Verdict::Pending => "pending",
            Verdict::Foreign => "foreign",
            Verdict::Young => "young",
            Verdict::MissingHere { .. } => "missing here",
            Verdict::MissingThere(_) => "missing there",
            Verdict::AmountDiffers(..) => "amount differs",
            Verdict::Denied(_) => "denied",
            Verdict::Unsettled(_) => "unsettled",
        })
        .collect()
}

#[test]
fn every_pair_of_what_the_books_say_has_its_verdict() {
    let (yes, no, open) = (Moved::Yes, Moved::No, Moved::Open);
    for (here, there, of_charge, of_refund) in [
        (yes, yes, "matched", "matched"),
        (yes, no, "missing there", "unsettled"),
        (yes, open, "unsettled", "unsettled"),
        (no, yes, "denied", "denied"),
        (no, no, "matched", "matched"),
        (no, open, "unsettled", "unsettled"),
        (open, yes, "unsettled", "unsettled"),
        (open, no, "unsettled", "unsettled"),
        (open, open, "pending", "pending"),
    ] {
        for (kind, id, verdict) in [(Kind::Charge, "pi_1", of_charge), (Kind::Refund, "re_1", of_refund)] {
            let said = names(&[entry(kind, id, there)], &[row(kind, here)]);
            assert_eq!(said, [verdict], "{kind:?}: here {here:?}, there {there:?}");
        }
    }
}

#[test]
fn what_only_our_books_have_is_missing_there_or_asked_for() {
    assert_eq!(names(&[], &[row(Kind::Charge, Moved::Yes)]), ["missing there"]);
    assert_eq!(names(&[], &[row(Kind::Charge, Moved::Open)]), ["unsettled"]);
    assert!(names(&[], &[row(Kind::Charge, Moved::No)]).is_empty());
    let asking = Row { under_way: true, ..row(Kind::Charge, Moved::Open) };
    assert_eq!(names(&[], std::slice::from_ref(&asking)), ["pending"]);
    assert_eq!(names(&[entry(Kind::Charge, "pi_1", Moved::Yes)], &[asking]), ["pending"]);
    let settled_just_now = Row { must_be_listed: false, ..row(Kind::Charge, Moved::Yes) };
    assert!(names(&[], &[settled_just_now]).is_empty(), "the processor's books were read before");
}

#[test]
fn an_orphan_bears_our_mark_and_is_older_than_the_grace() {
    let orphan = entry(Kind::Charge, "pi_9", Moved::Yes);
    assert_eq!(names(std::slice::from_ref(&orphan), &[]), ["missing here"]);
    let young = Entry { created: Some(now() + chrono::TimeDelta::seconds(1)), ..orphan.clone() };
    assert_eq!(names(&[young], &[]), ["young"]);
    let foreign = Entry { is_marked: false, reference: None, ..orphan.clone() };
    assert_eq!(names(&[foreign], &[]), ["foreign"]);
    let without_money = Entry { moved: Moved::No, ..orphan };
    assert_eq!(names(&[without_money], &[]), ["matched"]);
}

#[test]
fn a_second_capture_of_the_same_payment_is_an_orphan() {
    let entries = [entry(Kind::Charge, "pi_1", Moved::Yes), entry(Kind::Charge, "pi_2", Moved::Yes)];
    assert_eq!(names(&entries, &[row(Kind::Charge, Moved::Yes)]), ["matched", "missing here"]);
    let declined = [entry(Kind::Charge, "pi_2", Moved::No), entry(Kind::Charge, "pi_1", Moved::Yes)];
    assert_eq!(names(&declined, &[row(Kind::Charge, Moved::Yes)]), ["matched", "matched"]);
}

#[test]
fn an_orphan_that_was_given_back_is_no_difference() {
    let orphan = entry(Kind::Charge, "pi_9", Moved::Yes);
    let by_hand = |id: &str, amount| Entry {
        is_marked: false,
        reference: None,
        parent: Some("pi_9".to_owned()),
        amount,
        ..entry(Kind::Refund, id, Moved::Yes)
    };
    assert_eq!(names(&[orphan.clone(), by_hand("re_1", 1999)], &[]), ["matched", "matched"]);
    let half = [orphan, by_hand("re_1", 1000)];
    let verdicts = compare(&Books { entries: &half, rows: &[], young_since: now() });
    assert!(matches!(verdicts[0].1, Verdict::MissingHere { left: 999, .. }), "{verdicts:?}");
}

#[test]
fn a_refund_that_somebody_made_at_the_processor_is_noticed() {
    let by_hand = Entry {
        is_marked: false,
        reference: None,
        parent: Some("pi_1".to_owned()),
        ..entry(Kind::Refund, "re_9", Moved::Yes)
    };
    assert_eq!(names(std::slice::from_ref(&by_hand), &[row(Kind::Charge, Moved::Yes)])[0], "missing here");
    assert_eq!(names(&[by_hand], &[]), ["foreign"]);
}

#[test]
fn another_amount_or_currency_is_a_difference() {
    for other in [
        Entry { amount: 2000, ..entry(Kind::Charge, "pi_1", Moved::Yes) },
        Entry { currency: "USD".to_owned(), ..entry(Kind::Charge, "pi_1", Moved::Yes) },
    ] {
        assert_eq!(names(&[other], &[row(Kind::Charge, Moved::Yes)]), ["amount differs"]);
    }
}

#[test]
fn what_has_lost_its_mark_is_known_by_its_name() {
    let unmarked = Entry { is_marked: false, reference: None, ..entry(Kind::Charge, "pi_1", Moved::Yes) };
    assert_eq!(names(&[unmarked], &[row(Kind::Charge, Moved::Yes)]), ["matched"]);
}
