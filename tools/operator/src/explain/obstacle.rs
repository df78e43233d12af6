//! The obstacle before the end of an order, and the command that removes it. The commands are those of docs/repairs.md.

use audits::readers;
use chrono::{DateTime, Utc};

use super::fact::Fact;
use super::facts::Facts;

/// The reason why an order does not move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Obstacle {
    is_urgent: bool,
    at: DateTime<Utc>,
    pub(crate) what: String,
    pub(crate) cure: Option<String>,
}

/// The first obstacle. One that a person has to remove comes before one that can go away by itself.
pub(crate) fn first(facts: &Facts) -> Option<Obstacle> {
    let of_rows = facts.rows.iter().filter_map(|(_, fact)| of_row(fact));
    of_rows.chain(not_consumed(facts)).min_by_key(|obstacle| (!obstacle.is_urgent, obstacle.at))
}

fn of_row(fact: &Fact) -> Option<Obstacle> {
    let detail = &fact.detail;
    let (what, cure) = (detail.obstacle.clone()?, detail.cure.clone());
    Some(Obstacle { is_urgent: detail.is_urgent, at: fact.at?, what, cure })
}

/// The published events that a reader has not entered. One that is not found on its topic was removed there.
pub(crate) fn not_consumed(facts: &Facts) -> Vec<Obstacle> {
    let entered = facts.entered();
    let mut obstacles = Vec::new();
    for (service, at, event) in facts.events().filter(|(_, _, event)| event.is_published()) {
        let readers = readers().filter(|(_, stream)| stream.name() == service.name());
        for (reader, _) in readers.filter(|(reader, _)| !facts.unread_services.contains(reader)) {
            if !entered.contains(&(reader, event.id)) {
                let (is_urgent, reader) = (facts.has_read_topics && event.places.is_empty(), reader.name());
                let (what, cure) = if is_urgent {
                    let (sender, aggregate) = (service.name(), event.aggregate);
                    let cure = format!(
                        "./dev run {sender} outbox republish --aggregate {aggregate} --by NAME --reason TEXT"
                    );
                    (format!("Kafka removed {} before {reader} consumed it", event.name), cure)
                } else {
                    let what = format!("{reader} has not consumed {}", event.name);
                    (what, format!("./dev topics, ./dev logs {reader}"))
                };
                obstacles.push(Obstacle { is_urgent, at, what, cure: Some(cure) });
            }
        }
    }
    obstacles
}
