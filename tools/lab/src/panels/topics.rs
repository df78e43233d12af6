//! The topics, and the positions of the consumer groups, from `./dev topics --json`.

use std::time::Duration;

use envelope::Topics;
use harness::Part;
use serde_json::Value;

use crate::lab::Lab;
use crate::state::{PartState, Source};

/// The longest that the command may take.
const LIMIT: Duration = Duration::from_secs(20);
/// The pause between two looks.
const PAUSE: Duration = Duration::from_secs(1);

/// Keeps the events topics of this installation. A broker can have topics of others, whose readers are gone.
fn events_of(mut read: Value, names: &Topics) -> Value {
    let own = Part::SERVICES.map(|part| names.events(part.stream()));
    if let Some(topics) = read["topics"].as_array_mut() {
        topics.retain(|topic| topic["topic"].as_str().is_some_and(|name| own.iter().any(|it| it == name)));
    }
    read
}

/// Reads the topics, look after look. Without a broker the command is not run, because it would wait for one.
pub(crate) async fn watch(lab: &Lab) {
    loop {
        lab.state.send_modify(|state| state.topics.begin());
        let broker = PartState::look(&lab.broker, async { Ok(PartState::Up) }).await;
        let topics = if broker == PartState::Up {
            match lab.dev.read_json(&["topics", "--json"], LIMIT).await {
                Ok(topics) => Source::Read(events_of(topics, &lab.topics)),
                Err(error) => Source::Away(error.to_string()),
            }
        } else {
            Source::Away("kafka is away: no process accepts a connection".to_owned())
        };
        lab.state.send_modify(|state| state.topics.end(topics));
        tokio::time::sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn topics_of_others_and_dead_letters_are_left_out() {
        let names = ["p.orders.events", "orders.events", "p.orders.dlq", "q.p.orders.events"];
        let read = json!({ "topics": names.map(|topic| json!({ "topic": topic })) });
        let kept = events_of(read, &Topics::of("p"));
        assert_eq!(kept, json!({ "topics": [{ "topic": "p.orders.events" }] }));
    }
}
