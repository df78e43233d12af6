//! One assigned partition: what was fetched ahead, and a batch that came back undone.

use std::time::{Duration, Instant};

use rdkafka::consumer::base_consumer::PartitionQueue;
use rdkafka::error::KafkaError;

use super::SubscriptionSettings;
use super::commands::Place;
use super::context::MemberContext;
use crate::Received;

/// What the client has fetched of a partition; reading it is what makes the client fetch more.
pub(super) type Fetched = PartitionQueue<MemberContext>;

pub(super) struct Partition {
    pub(super) place: Place,
    fetched: Fetched,
    returned: Option<Returned>,
}

struct Returned {
    messages: Vec<Received>,
    rests_until: Instant,
}

impl Partition {
    pub(super) fn new(place: Place, fetched: Fetched) -> Self {
        Self { place, fetched, returned: None }
    }

    /// Takes a batch back, to hand the same messages out again. They need not be fetched again: it works while
    /// the brokers are away.
    pub(super) fn give_back(&mut self, messages: Vec<Received>, rest: Duration) {
        self.returned = Some(Returned { messages, rests_until: Instant::now() + rest });
    }

    /// The next messages in order, none if nothing has come or what came back still rests; and what stopped the
    /// reading, if it was an error.
    pub(super) fn take(&mut self, limits: &SubscriptionSettings) -> (Vec<Received>, Option<KafkaError>) {
        if self.rest().is_some_and(|rest| !rest.is_zero()) {
            return (Vec::new(), None);
        }
        match self.returned.take() {
            Some(returned) => (returned.messages, None),
            None => self.read(limits),
        }
    }

    /// How long what came back still rests.
    pub(super) fn rest(&self) -> Option<Duration> {
        self.returned.as_ref().map(|returned| returned.rests_until.saturating_duration_since(Instant::now()))
    }

    fn read(&self, limits: &SubscriptionSettings) -> (Vec<Received>, Option<KafkaError>) {
        let mut messages = Vec::new();
        let mut bytes = 0;
        while messages.len() < limits.max_batch && bytes < limits.max_batch_bytes {
            match self.fetched.poll(Duration::ZERO) {
                Some(Ok(message)) => {
                    let message = Received::copy_of(&message, &self.place.topic);
                    bytes += message.size();
                    messages.push(message);
                }
                Some(Err(error)) => return (messages, Some(error)),
                None => break,
            }
        }
        (messages, None)
    }
}
