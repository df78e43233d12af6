//! Generates histories: records with any objects, objects without a record, and refunds made by hand.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use uuid::Uuid;

use super::history::{Age, History, Kind, Object, Record, tagged};
use super::model::Money;

/// A record, its objects, and the refunds of these objects that were made by hand.
#[derive(Debug, Clone)]
struct Draft {
    kind: Kind,
    /// `None`: only the processor has the objects.
    state: Option<&'static str>,
    in_flight: bool,
    knows_object: bool,
    changes: bool,
    sent: Option<Age>,
    objects: Vec<ObjectDraft>,
}

#[derive(Debug, Clone)]
struct ObjectDraft {
    status: &'static str,
    tag: Tag,
    is_other: bool,
    more: i64,
    currency: &'static str,
    /// Minutes from the request to the object. The processor's clock may be behind.
    delay: i64,
    /// Amounts that were refunded by hand, without a tag, and their status.
    refunded: Vec<(i64, &'static str)>,
}

#[derive(Debug, Clone, Copy)]
enum Tag {
    Ours,
    Nonsense,
    OtherDeployment,
    None,
}

/// Histories of up to 30 records.
pub(super) fn histories() -> impl Strategy<Value = History> {
    vec(draft(), 1..30).prop_map(|drafts| {
        let mut history = History::default();
        for (number, draft) in (1..).zip(drafts) {
            draft.add_to(&mut history, number);
        }
        history
    })
}

fn draft() -> impl Strategy<Value = Draft> {
    let charge =
        select(vec!["requested", "capturing", "captured", "captured", "declined", "unknown", "cancelled"]);
    let refund = select(vec!["pending", "succeeded", "succeeded", "failed", "unknown"]);
    let record = prop_oneof![
        charge.prop_map(|state| (Kind::Charge, state)),
        refund.prop_map(|state| (Kind::Refund, state))
    ];
    // Inside the period, and one age before it. A delay never crosses the end of the period or of the grace period.
    let sent = prop::option::weighted(
        0.95,
        select(vec![0, 1, 5, 10, 20, 40, 60, 61, 62, 300, 1000, 2000, 2800, 2950]),
    );
    let is_known = prop::bool::weighted(0.85);
    (record, is_known, any::<bool>(), any::<bool>(), prop::bool::weighted(0.1), sent, vec(object(), 0..3))
        .prop_map(|((kind, state), is_known, in_flight, knows_object, changes, sent, objects)| Draft {
            kind,
            state: is_known.then_some(state),
            in_flight,
            knows_object,
            changes,
            sent,
            objects,
        })
}

fn object() -> impl Strategy<Value = ObjectDraft> {
    let status = select(vec![
        "succeeded",
        "succeeded",
        "succeeded",
        "succeeded",
        "processing",
        "canceled",
        "failed",
        "requires_payment_method",
        "requires_confirmation",
        "of_next_year",
    ]);
    let tag = prop_oneof![6 => Just(Tag::Ours), 1 => Just(Tag::Nonsense), 1 => Just(Tag::OtherDeployment), 2 => Just(Tag::None)];
    let more = prop_oneof![6 => Just(0), 1 => Just(1), 1 => Just(-1)];
    let currency = prop_oneof![9 => Just("eur"), 1 => Just("usd")];
    let delay = select(vec![-3, 0, 0, 0, 1, 180]);
    let refunded =
        vec((select(vec![400, 5000]), select(vec!["succeeded", "succeeded", "pending", "failed"])), 0..2);
    (status, tag, prop::bool::weighted(0.2), more, currency, delay, refunded).prop_map(
        |(status, tag, is_other, more, currency, delay, refunded)| ObjectDraft {
            status,
            tag,
            is_other,
            more,
            currency,
            delay,
            refunded,
        },
    )
}

impl Draft {
    fn add_to(self, history: &mut History, number: u128) {
        let mut record = Record {
            kind: self.kind,
            id: Uuid::from_u128(number),
            state: self.state.unwrap_or("unknown"),
            in_flight: self.in_flight,
            object: None,
            amount: 1000,
            sent: self.sent,
            changes: self.changes,
        };
        let id = match self.kind {
            Kind::Charge => record.intent(),
            Kind::Refund => format!("re_{number}"),
        };
        record.object = (self.knows_object || record.money() == Money::Moved).then(|| id.clone());
        for (attempt, draft) in self.objects.into_iter().enumerate() {
            let id = if draft.is_other || attempt > 0 { format!("{id}_{attempt}") } else { id.clone() };
            draft.add_to(history, &record, id);
        }
        if self.state.is_some() {
            history.records.push(record);
        }
    }
}

impl ObjectDraft {
    fn add_to(self, history: &mut History, record: &Record, id: String) {
        let created = (record.sent.unwrap_or(300) - self.delay).max(0);
        let (deployment, reference) = match self.tag {
            Tag::Ours => tagged(&record.id.to_string()),
            Tag::Nonsense => tagged("not even an id"),
            Tag::OtherDeployment => (Some("another"), Some(record.id.to_string())),
            Tag::None => (None, None),
        };
        if record.kind == Kind::Charge && self.status == "succeeded" {
            for (number, (amount, status)) in self.refunded.into_iter().enumerate() {
                history.objects.push(Object {
                    kind: Kind::Refund,
                    id: format!("re_{id}_{number}"),
                    status,
                    deployment: None,
                    reference: None,
                    payment_intent: Some(id.clone()),
                    amount,
                    currency: "eur",
                    created,
                });
            }
        }
        history.objects.push(Object {
            kind: record.kind,
            id,
            status: self.status,
            deployment,
            reference,
            payment_intent: (record.kind == Kind::Refund).then(|| record.intent()),
            amount: record.amount + self.more,
            currency: self.currency,
            created,
        });
    }
}
