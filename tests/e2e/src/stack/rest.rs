//! Waiting until nothing is in progress, and counting what happened.

use audits::readers;
use harness::Part;
use testkit::{eventually, eventually_done};

use super::Stack;

const OPEN_ORDERS: &str = "SELECT count(*) FROM orders WHERE state NOT IN ('confirmed', 'cancelled')";
const UNPUBLISHED: &str = "SELECT count(*) FROM outbox_event AS event, outbox_cursor AS relay
                            WHERE NOT outbox_is_published(relay, event.xid, event.id)";
const EVENTS: &str = "SELECT count(*) FROM outbox_event";

/// The services whose events another service reads: each of them has announced something once an order has ended.
pub fn publishers() -> impl Iterator<Item = Part> {
    let is_read = |service: &Part| readers().any(|(_, stream)| stream.name() == service.name());
    Part::SERVICES.into_iter().filter(is_read)
}

impl Stack {
    /// The number that a query selects in the database of a part.
    pub async fn count(&self, part: Part, sql: &str) -> i64 {
        self.databases[&part].count(sql).await
    }

    /// Waits until a query counts this number.
    pub async fn counts(&self, part: Part, sql: &str, expected: i64) {
        eventually(&format!("{expected} rows by {sql}"), async || {
            (self.count(part, sql).await == expected).then_some(())
        })
        .await;
    }

    /// Waits until every outbox is published and every consumer has entered all of it.
    pub async fn settled(&self) {
        eventually_done("every message is consumed", async || {
            Some(self.unconsumed().await).filter(|unconsumed| *unconsumed != 0)
        })
        .await;
    }

    /// Waits until nothing is in progress: every order has ended, each service has finished its work, and every message is
    /// published and consumed.
    pub async fn at_rest(&self) {
        let books = self.books();
        eventually_done("every order has ended, and nothing is in progress", async || {
            // Messages first: one that is consumed after the look at the services could have begun something.
            let (events, unconsumed) = (self.events().await, self.unconsumed().await);
            let begun = books.in_progress().await.unwrap();
            let open = self.count(Part::ORDERS, OPEN_ORDERS).await;
            // An event between the two counts would have begun something new.
            let rests = open + unconsumed == 0 && begun.is_empty() && self.events().await == events;
            (!rests).then_some((open, begun, events, unconsumed))
        })
        .await;
    }

    /// Returns how many events the services have committed.
    pub async fn events(&self) -> i64 {
        let mut events = 0;
        for service in Part::SERVICES {
            events += self.count(service, EVENTS).await;
        }
        events
    }

    /// Returns how many events the relays have not passed, and how many messages consumers have not entered, counted for each
    /// consumer.
    async fn unconsumed(&self) -> i64 {
        let mut unconsumed = 0;
        for service in Part::SERVICES {
            unconsumed += self.count(service, UNPUBLISHED).await;
        }
        for (reader, stream) in readers() {
            let source = Part::SERVICES.into_iter().find(|part| part.name() == stream.name()).unwrap();
            let entered = format!("SELECT count(*) FROM inbox_message WHERE source = '{}'", stream.name());
            unconsumed += self.count(source, EVENTS).await - self.count(reader.into(), &entered).await;
        }
        unconsumed
    }
}
