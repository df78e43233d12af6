//! The sent messages that the cursor has not passed, in the order of sending.

use std::collections::VecDeque;

#[derive(Default)]
pub(super) struct InFlight {
    messages: VecDeque<Message>,
}

struct Message {
    id: i64,
    acknowledged: bool,
}

impl InFlight {
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    pub(super) fn sent(&mut self, id: i64) {
        self.messages.push_back(Message { id, acknowledged: false });
    }

    /// Notes that the broker has acknowledged a message. Removes the longest prefix of acknowledged messages, and returns the
    /// id of its last message.
    pub(super) fn acknowledge(&mut self, id: i64) -> Option<i64> {
        // Reports are in order for each partition, so the message is near the front.
        if let Some(message) = self.messages.iter_mut().find(|message| message.id == id) {
            message.acknowledged = true;
        }
        let prefix = self.messages.iter().take_while(|message| message.acknowledged).count();
        self.messages.drain(..prefix).next_back().map(|message| message.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_passes_only_the_longest_acknowledged_prefix() {
        let mut in_flight = InFlight::default();
        for id in [3, 5, 4] {
            in_flight.sent(id);
        }
        assert_eq!(in_flight.acknowledge(5), None, "3 was sent before 5");
        assert_eq!(in_flight.acknowledge(7), None, "7 was not sent");
        assert_eq!(in_flight.acknowledge(3), Some(5));
        assert!(!in_flight.is_empty());
        assert_eq!(in_flight.acknowledge(4), Some(4));
        assert!(in_flight.is_empty());
    }
}
