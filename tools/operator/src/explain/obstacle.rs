//! The obstacle before the end of an order, and the command that removes it. The commands are those of docs/repairs.md.

use audits::{Database, READERS};
use envelope::Stream;

use super::facts::Facts;
use super::line::{short, shown};
use super::messages::{EventRow, Messages};

/// Ends each command that changes something.
const BY: &str = "--by NAME --reason TEXT";

/// The reason why an order does not move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Obstacle {
    pub(crate) what: String,
    pub(crate) cure: Option<String>,
}

/// The first obstacle. One that a person has to remove comes before one that can go away by itself.
pub(crate) fn first(facts: &Facts) -> Option<Obstacle> {
    parked(facts)
        .or_else(|| blocked(facts))
        .or_else(|| in_review(facts))
        .or_else(|| unpublished(facts))
        .or_else(|| unread_message(facts))
        .or_else(|| held(facts))
        .or_else(|| call(facts))
}

fn parked(facts: &Facts) -> Option<Obstacle> {
    facts.messages.iter().find_map(|messages| {
        let row = messages.waiting.iter().find(|row| row.is_parked())?;
        let service = messages.database.name();
        let error = row.error.as_deref().unwrap_or("without an error");
        Some(Obstacle {
            what: format!("parked: {service} could not apply {}: {error}", row.name()),
            cure: Some(format!(
                "remove the cause, then ./dev run {service} inbox redrive {} {BY}",
                row.message_id
            )),
        })
    })
}

/// A message that is held without a parked one before it: an earlier message is missing.
fn held(facts: &Facts) -> Option<Obstacle> {
    facts.messages.iter().find_map(|messages| {
        let row = messages.waiting.first()?;
        let (service, source) = (messages.database.name(), &row.source);
        Some(Obstacle {
            what: format!("{service} holds {} until an earlier message of {source} arrives", row.name()),
            cure: Some(format!("./dev run {service} inbox show {}", row.message_id)),
        })
    })
}

fn blocked(facts: &Facts) -> Option<Obstacle> {
    let (messages, event) = events(facts).find(|(_, event)| event.is_blocked)?;
    let service = messages.database.name();
    let error = event.blocked_error.as_deref().unwrap_or("it waits behind an earlier event");
    Some(Obstacle {
        what: format!("{} is blocked: {error}", named(event)),
        cure: Some(format!(
            "remove the cause, then ./dev run {service} outbox release --aggregate {} {BY}",
            event.aggregate_id
        )),
    })
}

fn in_review(facts: &Facts) -> Option<Obstacle> {
    let review = facts.money.rows()?.reviews.iter().find(|review| review.resolution.is_none())?;
    Some(Obstacle {
        what: format!("a review of the {} is open: {}", review.subject, review.reason),
        cure: Some(format!("./dev run payments review show {}", review.id)),
    })
}

fn unpublished(facts: &Facts) -> Option<Obstacle> {
    let (messages, event) = events(facts).find(|(_, event)| !event.is_published())?;
    let service = messages.database.name();
    let relay = messages.relay.as_ref()?;
    let (relay, cure) = if relay.is_active {
        (format!("the relay is {}", relay.owner), format!("./dev run {service} outbox status"))
    } else {
        ("relay none".to_owned(), "./dev up".to_owned())
    };
    Some(Obstacle { what: format!("{} is not published, {relay}", named(event)), cure: Some(cure) })
}

/// A published event that a reader has not entered.
fn unread_message(facts: &Facts) -> Option<Obstacle> {
    events(facts).find_map(|(messages, event)| {
        let readers = READERS.iter().filter(|(_, stream)| is_of(*stream, messages.database));
        readers.filter_map(|(reader, _)| facts.messages_of(*reader)).find_map(|reader| {
            let is_entered = reader.entered.iter().any(|row| row.message_id == event.event_id);
            (!is_entered).then(|| not_entered(reader, event))
        })
    })
}

fn not_entered(reader: &Messages, event: &EventRow) -> Obstacle {
    let service = reader.database.name();
    Obstacle {
        what: format!("{service} has not consumed {}", short(&event.kind)),
        cure: Some(format!("./dev topics, ./dev logs {service}")),
    }
}

/// A charge or refund whose outcome is open. A lookup of a settled one, which a webhook can request, keeps nothing from its end.
fn call(facts: &Facts) -> Option<Obstacle> {
    let money = facts.money.rows()?;
    let call = money.calls.iter().find(|call| call.due_at.is_some() && money.is_unsettled(call.id))?;
    let outcome = call.last_outcome.as_deref().unwrap_or("not sent yet");
    let sent = call.sent_since.map(|at| format!(", first sent at {}", shown(at))).unwrap_or_default();
    let what = format!(
        "the processor has not settled the {}: {} attempts{sent}, last outcome: {outcome}; {}",
        call.kind,
        call.attempt,
        call.next()
    );
    Some(Obstacle { what, cure: None })
}

/// All events of the order in the order of time.
fn events(facts: &Facts) -> impl Iterator<Item = (&Messages, &EventRow)> {
    let mut events: Vec<_> =
        facts.messages.iter().flat_map(|it| it.events.iter().map(move |event| (it, event))).collect();
    events.sort_by_key(|(_, event)| event.created_at);
    events.into_iter()
}

fn named(event: &EventRow) -> String {
    format!("its {} (outbox id {})", short(&event.kind), event.id)
}

fn is_of(stream: Stream, database: Database) -> bool {
    stream.name() == database.name()
}
