//! Waiting until nothing is under way.

use contracts::Stream;
use testkit::eventually;

use super::Stack;

/// What is under way besides messages, and in whose database.
const UNDER_WAY: [(&str, &str); 4] = [
    ("orders", "SELECT count(*) FROM orders WHERE state NOT IN ('confirmed', 'cancelled')"),
    ("payments", "SELECT count(*) FROM processor_call WHERE due_at IS NOT NULL"),
    (
        "provider",
        "SELECT (SELECT count(*) FROM event WHERE NOT planned)
              + (SELECT count(*) FROM delivery WHERE due_at IS NOT NULL) AS count",
    ),
    ("inventory", "SELECT count(*) FROM reservation WHERE state = 'held'"),
];

/// The ledger's heads go to a topic that no service reads.
const TO_SERVICES: &str = "SELECT count(*) FROM outbox_event WHERE topic LIKE '%.events'";

impl Stack {
    /// Waits until every outbox is published and every consumer has dealt with all of it.
    pub async fn settled(&self) {
        eventually("every message is dealt with", async || (self.unheard().await == 0).then_some(())).await;
    }

    /// Waits until nothing is under way: every order has ended, every processor call has ended, no stock is held, and
    /// every message is dealt with.
    pub async fn at_rest(&self) {
        eventually("every order has ended, and nothing is under way", async || {
            for (database, sql) in UNDER_WAY {
                if self.count(database, sql).await > 0 {
                    return None;
                }
            }
            let events = self.events().await;
            // What was told between the two looks would have begun something new.
            (self.unheard().await == 0 && self.events().await == events).then_some(())
        })
        .await;
    }

    /// How many events were ever told.
    pub async fn events(&self) -> i64 {
        let mut events = 0;
        for name in ["orders", "inventory", "payments"] {
            events += self.count(name, "SELECT count(*) FROM outbox_event").await;
        }
        events
    }

    /// How many messages have not been entered yet, counted for each consumer.
    async fn unheard(&self) -> i64 {
        let mut unheard = 0;
        for (database, stream, consumers) in [
            ("orders", Stream::Orders, &["inventory", "payments"][..]),
            ("inventory", Stream::Inventory, &["orders"]),
            ("payments", Stream::Payments, &["orders"]),
        ] {
            let source = stream.name();
            let heard = format!("SELECT count(*) FROM inbox_message WHERE source = '{source}'");
            for consumer in consumers {
                let heard = self.count(consumer, &heard).await;
                unheard += self.count(database, TO_SERVICES).await - heard;
            }
        }
        unheard
    }
}
