//! The messages that the cursor has not passed, in the order of their ids.

use std::collections::VecDeque;

use uuid::Uuid;

#[derive(Default)]
pub(super) struct InFlight {
    /// With ascending ids: the cursor's window is read in this order, and ends before the next one begins.
    messages: VecDeque<Message>,
}

struct Message {
    id: i64,
    aggregate: Uuid,
    /// True if the message is acknowledged or blocked.
    done: bool,
}

impl InFlight {
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(super) fn add(&mut self, id: i64, aggregate: Uuid) {
        self.messages.push_back(Message { id, aggregate, done: false });
    }

    pub(super) fn aggregate_of(&self, id: i64) -> Option<Uuid> {
        self.position(id).map(|position| self.messages[position].aggregate)
    }

    fn position(&self, id: i64) -> Option<usize> {
        self.messages.binary_search_by_key(&id, |message| message.id).ok()
    }

    /// Notes that a message is done. Removes the longest prefix of messages that are all done, and returns the id of its last
    /// message.
    pub(super) fn finish(&mut self, id: i64) -> Option<i64> {
        if let Some(position) = self.position(id) {
            self.messages[position].done = true;
        }
        let prefix = self.messages.iter().take_while(|message| message.done).count();
        self.messages.drain(..prefix).next_back().map(|message| message.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_passes_only_the_longest_prefix_that_is_done() {
        let mut in_flight = InFlight::default();
        for id in [3, 4, 6] {
            in_flight.add(id, Uuid::nil());
        }
        assert_eq!(in_flight.finish(4), None, "3 was sent before 4");
        assert_eq!(in_flight.finish(7), None, "7 was not sent");
        assert_eq!(in_flight.finish(3), Some(4));
        assert!(!in_flight.is_empty());
        assert_eq!(in_flight.finish(6), Some(6));
        assert!(in_flight.is_empty());
    }
}
