//! One test for each pair of states that the two records of an object may have.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{CallKind, Comparison, MoneyState, OurRecord, ProcessorRecord, Verdict};

const OLD: DateTime<Utc> = DateTime::UNIX_EPOCH;
const ID: Uuid = Uuid::from_u128(1);

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_000_000, 0).unwrap()
}

fn theirs(kind: CallKind, id: &str, money: MoneyState) -> ProcessorRecord {
    ProcessorRecord {
        kind,
        id: id.to_owned(),
        is_tagged: true,
        reference: Some(ID),
        payment_intent: None,
        amount: 1999,
        currency: "EUR".to_owned(),
        money,
        created: Some(OLD),
    }
}

fn ours(kind: CallKind, money: MoneyState) -> OurRecord {
    let object = match kind {
        CallKind::Charge => "pi_1",
        CallKind::Refund => "re_1",
    };
    OurRecord {
        kind,
        id: ID,
        payment: ID.into(),
        tenant: "acme".parse().unwrap(),
        amount: 1999,
        currency: "EUR".to_owned(),
        money,
        in_flight: false,
        object: (money == MoneyState::Moved).then(|| object.to_owned()),
        is_of_period: true,
        must_be_listed: true,
    }
}

/// The verdicts about one period.
fn verdicts(entries: &[ProcessorRecord], rows: &[OurRecord]) -> Vec<Verdict> {
    let mut comparison = Comparison::new(now());
    let mut found = Vec::new();
    for kind in [CallKind::Charge, CallKind::Refund] {
        let page = entries.iter().filter(|entry| entry.kind == kind).cloned().collect();
        found.extend(comparison.listed(page, rows));
        comparison.sent(rows.iter().filter(|row| row.kind == kind).cloned().collect());
    }
    found.extend(comparison.conclude());
    found.into_iter().map(|(_, verdict)| verdict).collect()
}

/// The verdicts' names, in order.
fn names(entries: &[ProcessorRecord], rows: &[OurRecord]) -> Vec<&'static str> {
    verdicts(entries, rows)
        .iter()
        .map(|verdict| match verdict {
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
fn every_pair_of_recorded_states_has_its_verdict() {
    let (yes, no, open) = (MoneyState::Moved, MoneyState::NotMoved, MoneyState::Open);
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
        for (kind, id, verdict) in
            [(CallKind::Charge, "pi_1", of_charge), (CallKind::Refund, "re_1", of_refund)]
        {
            let verdicts = names(&[theirs(kind, id, there)], &[ours(kind, here)]);
            assert_eq!(verdicts, [verdict], "{kind:?}: here {here:?}, there {there:?}");
        }
    }
}

#[test]
fn a_record_that_only_we_have_is_missing_there_or_looked_up() {
    assert_eq!(names(&[], &[ours(CallKind::Charge, MoneyState::Moved)]), ["missing there"]);
    assert_eq!(names(&[], &[ours(CallKind::Charge, MoneyState::Open)]), ["unsettled"]);
    assert!(names(&[], &[ours(CallKind::Charge, MoneyState::NotMoved)]).is_empty());
    let asking = OurRecord { in_flight: true, ..ours(CallKind::Charge, MoneyState::Open) };
    assert_eq!(names(&[], std::slice::from_ref(&asking)), ["pending"]);
    assert_eq!(names(&[theirs(CallKind::Charge, "pi_1", MoneyState::Moved)], &[asking]), ["pending"]);
    let moved_just_now = OurRecord { must_be_listed: false, ..ours(CallKind::Charge, MoneyState::Moved) };
    assert!(names(&[], &[moved_just_now]).is_empty(), "the processor's books were read before");
}

#[test]
fn an_orphan_is_tagged_as_ours_and_older_than_the_grace_period() {
    let orphan = theirs(CallKind::Charge, "pi_9", MoneyState::Moved);
    assert_eq!(names(std::slice::from_ref(&orphan), &[]), ["missing here"]);
    let young = ProcessorRecord { created: Some(now() + chrono::TimeDelta::seconds(1)), ..orphan.clone() };
    assert_eq!(names(&[young], &[]), ["young"]);
    let foreign = ProcessorRecord { is_tagged: false, reference: None, ..orphan.clone() };
    assert_eq!(names(&[foreign], &[]), ["foreign"]);
    let without_money = ProcessorRecord { money: MoneyState::NotMoved, ..orphan };
    assert_eq!(names(&[without_money], &[]), ["matched"]);
}

#[test]
fn a_second_capture_of_the_same_payment_is_an_orphan() {
    let entries = [
        theirs(CallKind::Charge, "pi_1", MoneyState::Moved),
        theirs(CallKind::Charge, "pi_2", MoneyState::Moved),
    ];
    assert_eq!(names(&entries, &[ours(CallKind::Charge, MoneyState::Moved)]), ["matched", "missing here"]);
    let declined = [
        theirs(CallKind::Charge, "pi_2", MoneyState::NotMoved),
        theirs(CallKind::Charge, "pi_1", MoneyState::Moved),
    ];
    assert_eq!(names(&declined, &[ours(CallKind::Charge, MoneyState::Moved)]), ["matched", "matched"]);
}

#[test]
fn a_refunded_orphan_is_no_difference() {
    let orphan = theirs(CallKind::Charge, "pi_9", MoneyState::Moved);
    let by_hand = |id: &str, amount| ProcessorRecord {
        is_tagged: false,
        reference: None,
        payment_intent: Some("pi_9".to_owned()),
        amount,
        ..theirs(CallKind::Refund, id, MoneyState::Moved)
    };
    assert_eq!(names(&[orphan.clone(), by_hand("re_1", 1999)], &[]), ["matched", "matched"]);
    let half = [orphan, by_hand("re_1", 1000)];
    let verdicts = verdicts(&half, &[]);
    assert!(matches!(verdicts[1], Verdict::MissingHere { left: 999, .. }), "{verdicts:?}");
}

#[test]
fn a_refund_made_by_hand_at_the_processor_is_found() {
    let by_hand = ProcessorRecord {
        is_tagged: false,
        reference: None,
        payment_intent: Some("pi_1".to_owned()),
        ..theirs(CallKind::Refund, "re_9", MoneyState::Moved)
    };
    assert_eq!(
        names(std::slice::from_ref(&by_hand), &[ours(CallKind::Charge, MoneyState::Moved)])[0],
        "missing here"
    );
    assert_eq!(names(&[by_hand], &[]), ["foreign"]);
}

#[test]
fn another_amount_or_currency_is_a_difference() {
    for other in [
        ProcessorRecord { amount: 2000, ..theirs(CallKind::Charge, "pi_1", MoneyState::Moved) },
        ProcessorRecord { currency: "USD".to_owned(), ..theirs(CallKind::Charge, "pi_1", MoneyState::Moved) },
    ] {
        assert_eq!(names(&[other], &[ours(CallKind::Charge, MoneyState::Moved)]), ["amount differs"]);
    }
}

#[test]
fn an_object_without_its_tag_is_matched_by_its_id() {
    let unmarked = ProcessorRecord {
        is_tagged: false,
        reference: None,
        ..theirs(CallKind::Charge, "pi_1", MoneyState::Moved)
    };
    assert_eq!(names(&[unmarked], &[ours(CallKind::Charge, MoneyState::Moved)]), ["matched"]);
}

/// A request that is retried for hours takes effect in a later part of the period than it was first sent in, and a clock that
/// is ahead lists an object before its part.
#[test]
fn a_record_is_matched_in_whatever_part_of_the_period_it_is_listed() {
    let page = || vec![theirs(CallKind::Charge, "pi_1", MoneyState::Moved)];
    let rows = || vec![ours(CallKind::Charge, MoneyState::Moved)];
    for is_sent_first in [true, false] {
        let mut comparison = Comparison::new(now());
        if is_sent_first {
            comparison.sent(rows());
        }
        assert!(matches!(comparison.listed(page(), &rows())[..], [(_, Verdict::Matched)]));
        if !is_sent_first {
            comparison.sent(rows());
        }
        assert!(comparison.is_empty(), "matched records are forgotten");
        assert_eq!(comparison.conclude(), []);
    }
}
