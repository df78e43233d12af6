//! What became of the records, in the order in which the brokers answered: per partition, the order of
//! publishing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::delivery::Delivery;
use crate::Brokers;

/// The result of one record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ack {
    /// The token given to [`publish`](crate::Publisher::publish).
    pub token: u64,
    /// Where it stands, or why nobody knows.
    pub result: Result<Placed, NotAcknowledged>,
}

/// Where a record stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// The partition of its topic.
    pub partition: i32,
    /// Its place in the partition; unknown if the broker had it from an earlier attempt.
    pub offset: Option<i64>,
}

/// The brokers did not confirm the record: it may or may not stand in its topic. Publish it again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not acknowledged, so it may or may not be in its topic: {reason}")]
pub struct NotAcknowledged {
    /// The client's words.
    pub reason: String,
}

/// The acknowledgements of one [`Publisher`](crate::Publisher). What is not read counts as outstanding.
pub struct Acks {
    receiver: UnboundedReceiver<Ack>, // bounded by Publisher::publish, which counts what is unread
    books: Arc<Books>,
}

impl Acks {
    /// The next result; `None` once the publisher was dropped and every result was read. Dropping the future
    /// loses nothing.
    pub async fn next(&mut self) -> Option<Ack> {
        self.receiver.recv().await.inspect(|_| self.books.read())
    }

    /// The next result if it is there already.
    pub fn try_next(&mut self) -> Option<Ack> {
        self.receiver.try_recv().ok().inspect(|_| self.books.read())
    }

    pub(super) fn books(&self) -> Arc<Books> {
        Arc::clone(&self.books)
    }
}

pub(super) fn channel(client: &str, brokers: &Brokers) -> (Delivery, Acks) {
    let (sender, receiver) = unbounded_channel();
    let books = Arc::new(Books::default());
    (Delivery::new(client, brokers, sender, Arc::clone(&books)), Acks { receiver, books })
}

/// How many records are where.
#[derive(Default)]
pub(super) struct Books {
    /// Taken, and the result not read.
    outstanding: AtomicUsize,
    /// Taken, and no result yet.
    in_flight: AtomicUsize,
    all_settled: Notify,
}

impl Books {
    /// Called before the record is handed over, because its result may come before that call returns.
    pub(super) fn published(&self) {
        self.outstanding.fetch_add(1, Ordering::AcqRel);
        self.in_flight.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn refused(&self) {
        self.answered();
        self.read();
    }

    /// Called after the result was sent, so that whoever waits for `settled` finds it.
    pub(super) fn answered(&self) {
        if self.in_flight.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.all_settled.notify_waiters();
        }
    }

    pub(super) fn read(&self) {
        self.outstanding.fetch_sub(1, Ordering::AcqRel);
    }

    pub(super) fn outstanding(&self) -> usize {
        self.outstanding.load(Ordering::Acquire)
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Acquire)
    }

    pub(super) async fn settled(&self) {
        loop {
            let settled = self.all_settled.notified();
            if self.in_flight() == 0 {
                return;
            }
            settled.await;
        }
    }
}
