//! The consumer's own thread. It serves the client, hands batches out and takes word back, and never waits for
//! whoever works on a batch.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use rdkafka::consumer::Consumer as _;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use tokio::sync::mpsc::Sender;
use tokio::sync::mpsc::error::TrySendError;

use super::SubscriptionSettings;
use super::batch::Batch;
use super::commands::{Command, Commands, Place};
use super::context::{Assignment, Consumer};
use super::partition::Partition;
use crate::Received;

/// The longest rest between two polls. New messages, events and commands end it at once; this only bounds what a
/// missed wake-up could cost.
const REST: Duration = Duration::from_millis(100);

/// A poll that consumed an event looks like one that found none, so several are made in a row.
const EVENTS_AT_ONCE: usize = 16;

pub(super) struct Member {
    consumer: Arc<Consumer>,
    assignment: Assignment,
    received: Receiver<Command>,
    commands: Commands,
    batches: Sender<Batch>,
    settings: SubscriptionSettings,
    partitions: Vec<Partition>,
    /// Partitions with a batch out. It outlives an assignment: a partition that is lost and comes back waits for
    /// the batch from before.
    out: HashSet<Place>,
}

impl Member {
    pub(super) fn new(
        consumer: Arc<Consumer>,
        received: Receiver<Command>,
        commands: Commands,
        batches: Sender<Batch>,
        settings: SubscriptionSettings,
    ) -> Self {
        let assignment = consumer.context().assignment.clone();
        let (partitions, out) = (Vec::new(), HashSet::new());
        Self { consumer, assignment, received, commands, batches, settings, partitions, out }
    }

    /// Runs until told to leave, or until the client is broken for good. Leaving blocks while the last offsets
    /// are committed: that is why it happens here.
    pub(super) fn run(mut self) {
        self.commands.read_here();
        while self.round().is_continue() {
            thread::park_timeout(self.rest());
        }
        self.partitions.clear(); // they hold the consumer
        let Self { consumer, received, .. } = self;
        drop(received); // commands may hold it too
        drop(consumer);
    }

    fn round(&mut self) -> ControlFlow<()> {
        for _ in 0..EVENTS_AT_ONCE {
            self.serve_client()?;
            // Between any two events: a queue that was revoked must be gone before its partition is assigned anew,
            // because dropping it silences the partition's wake-up.
            while let Ok(command) = self.received.try_recv() {
                self.obey(command)?;
            }
        }
        self.hand_out()
    }

    /// A rebalance, an error or a log line. Messages come through the partitions' own queues alone.
    fn serve_client(&self) -> ControlFlow<()> {
        match self.consumer.poll(Duration::ZERO) {
            None => ControlFlow::Continue(()),
            Some(Err(error)) => survive(&error),
            Some(Ok(_)) => {
                tracing::error!(target: "kafka", "a message came outside its partition's queue; leaving the group, as order is lost");
                ControlFlow::Break(())
            }
        }
    }

    fn obey(&mut self, command: Command) -> ControlFlow<()> {
        match command {
            Command::Assigned(place, fetched) => self.partitions.push(Partition::new(place, fetched)),
            Command::Revoked => self.partitions.clear(),
            Command::Done { place, generation, last } => {
                self.out.remove(&place);
                if generation == self.assignment.generation() {
                    self.store(&place, last);
                }
            }
            Command::Undone { place, generation, messages } => {
                self.out.remove(&place);
                if generation == self.assignment.generation() {
                    self.give_back(&place, messages);
                }
            }
            Command::Leave => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    /// The client commits it at the next interval, and before it lets the partition go.
    fn store(&self, place: &Place, last: i64) {
        if let Err(error) = self.consumer.store_offset(&place.topic, place.partition, last) {
            self.consumer.context().log.problem(&format!("the offset of {place} is not stored: {error}"));
        }
    }

    fn give_back(&mut self, place: &Place, messages: Vec<Received>) {
        let rest = self.settings.redelivery_delay;
        if let Some(partition) = self.partitions.iter_mut().find(|partition| partition.place == *place) {
            partition.give_back(messages, rest);
        }
    }

    /// A batch for each partition that has messages and none out, as long as there is room for batches.
    fn hand_out(&mut self) -> ControlFlow<()> {
        if !self.partitions.is_empty() {
            self.partitions.rotate_left(1); // so that scarce room goes to another partition each time
        }
        for partition in &mut self.partitions {
            if self.out.contains(&partition.place) {
                continue;
            }
            let room = match self.batches.try_reserve() {
                Ok(room) => room,
                Err(TrySendError::Full(())) => break,
                Err(TrySendError::Closed(())) => return ControlFlow::Break(()),
            };
            let (messages, error) = partition.take(&self.settings);
            if let Some(error) = error {
                survive(&error)?;
            }
            if !messages.is_empty() {
                self.out.insert(partition.place.clone());
                room.send(Batch::new(partition.place.clone(), messages, &self.assignment, &self.commands));
            }
        }
        ControlFlow::Continue(())
    }

    fn rest(&self) -> Duration {
        let returned = self.partitions.iter().filter(|partition| !self.out.contains(&partition.place));
        returned.filter_map(Partition::rest).fold(REST, Duration::min)
    }
}

/// The client mends most errors by itself, and its log has told of them. It cannot go on after a fatal one, and it
/// would skip over messages whose checksum is wrong: then it is better to stop in front of them.
fn survive(error: &KafkaError) -> ControlFlow<()> {
    match error {
        KafkaError::MessageConsumptionFatal(_)
        | KafkaError::MessageConsumption(RDKafkaErrorCode::BadMessage) => {
            tracing::error!(target: "kafka", %error, "the consumer cannot go on and leaves the group");
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    }
}
