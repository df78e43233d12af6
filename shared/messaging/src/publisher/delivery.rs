//! The producer's callbacks: turns delivery reports into acknowledgements.

use std::sync::Arc;

use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError;
use rdkafka::producer::{DeliveryResult, ProducerContext};
use rdkafka::{ClientContext, Message, Statistics};
use tokio::sync::mpsc::UnboundedSender;

use super::acks::{Ack, Books, NotAcknowledged, Placed};
use crate::Brokers;
use crate::client_log::ClientLog;

pub(super) struct Delivery {
    log: ClientLog,
    acks: UnboundedSender<Ack>,
    books: Arc<Books>,
}

impl Delivery {
    pub(super) fn new(
        client: &str,
        brokers: &Brokers,
        acks: UnboundedSender<Ack>,
        books: Arc<Books>,
    ) -> Self {
        Self { log: ClientLog::new(client, brokers.bootstrap()), acks, books }
    }
}

// A token travels through the library in the place of a pointer.
const _: () = assert!(usize::BITS >= u64::BITS, "tokens need pointers of 64 bits");

#[expect(clippy::cast_possible_truncation, reason = "asserted above")]
pub(super) fn opaque(token: u64) -> usize {
    token as usize
}

impl ProducerContext for Delivery {
    type DeliveryOpaque = usize;

    fn delivery(&self, report: &DeliveryResult<'_>, opaque: usize) {
        let result = match report {
            Ok(message) => Ok(Placed {
                partition: message.partition(),
                offset: Some(message.offset()).filter(|offset| *offset >= 0),
            }),
            Err((error, _)) => Err(NotAcknowledged { reason: error.to_string() }),
        };
        let _ = self.acks.send(Ack { token: opaque as u64, result }); // unless nobody wants to know any more
        self.books.answered();
    }
}

impl ClientContext for Delivery {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        self.log.line(level, facility, text);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.log.error(&error, reason);
    }

    fn stats(&self, statistics: Statistics) {
        self.log.statistics(&statistics);
    }
}
