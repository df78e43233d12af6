//! The producer's callbacks: they pass on delivery reports and log lines. They run on the publisher's thread.

use std::error::Error;
use std::sync::{Mutex, PoisonError};

use rdkafka::client::OAuthToken;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{DeliveryResult, ProducerContext};
use rdkafka::{ClientContext, Message, Statistics};
use tokio::sync::mpsc::UnboundedSender;

use super::delivery_reports::{DeliveryReport, NotAcknowledged, RecordMetadata};
use crate::broker_loss::has_forgotten_brokers;
use crate::brokers::TokenFile;
use crate::client_log::ClientLog;
use crate::{Brokers, Refusal};

pub(super) struct ProducerCallbacks {
    log: ClientLog,
    token: TokenFile,
    /// `None` once the client has forgotten its brokers.
    reports: Mutex<Option<UnboundedSender<DeliveryReport>>>,
}

impl ProducerCallbacks {
    pub(super) fn new(client: &str, brokers: &Brokers, reports: UnboundedSender<DeliveryReport>) -> Self {
        let log = ClientLog::new(client, brokers.bootstrap());
        Self { log, token: brokers.token(), reports: Mutex::new(Some(reports)) }
    }

    fn report(&self, report: DeliveryReport) {
        let reports = self.reports.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reports) = &*reports {
            let _ = reports.send(report); // fails only if the reader was dropped; then the report is not needed
        }
    }

    /// Ends the reports, so that their reader takes another publisher.
    fn end_reports(&self) {
        if self.reports.lock().unwrap_or_else(PoisonError::into_inner).take().is_some() {
            self.log.problem("the Kafka client has forgotten its brokers; another one is needed");
        }
    }
}

// The library carries a token in the space of a pointer.
const _: () = assert!(usize::BITS >= u64::BITS, "tokens need pointers of 64 bits");

#[expect(clippy::cast_possible_truncation, reason = "asserted above")]
pub(super) fn opaque(token: u64) -> usize {
    token as usize
}

/// Returns whether the record may be accepted later: the brokers do not know the topic, the producer has no right to write to it, its clock
/// differs from theirs by more than the topic allows, or they validate records. In a batch a wrong time is an invalid record.
pub(super) fn is_about_the_topic(code: RDKafkaErrorCode) -> bool {
    use RDKafkaErrorCode as Code;
    let is_missing =
        matches!(code, Code::UnknownTopic | Code::UnknownPartition | Code::UnknownTopicOrPartition);
    is_missing
        || matches!(code, Code::TopicAuthorizationFailed | Code::InvalidTimestamp | Code::InvalidRecord)
}

/// Returns whether the brokers refuse this record. Any other error leaves open whether the record is in its topic.
fn is_refusal(code: RDKafkaErrorCode) -> bool {
    use RDKafkaErrorCode as Code;
    let is_of_the_record =
        matches!(code, Code::InvalidTopic | Code::MessageSizeTooLarge | Code::PolicyViolation);
    is_of_the_record || is_about_the_topic(code)
}

impl ProducerContext for ProducerCallbacks {
    type DeliveryOpaque = usize;

    fn delivery(&self, result: &DeliveryResult<'_>, opaque: usize) {
        let result = match result {
            Ok(message) => Ok(RecordMetadata {
                partition: message.partition(),
                offset: Some(message.offset()).filter(|offset| *offset >= 0),
            }),
            Err((error, message)) => {
                let (code, reason) = (error.rdkafka_error_code(), error.to_string());
                let is_of_topic = code.is_some_and(is_about_the_topic);
                let unusable_topic = is_of_topic.then(|| message.topic().to_owned());
                Err(if code.is_some_and(is_refusal) {
                    NotAcknowledged::Refused(Refusal { reason, unusable_topic })
                } else {
                    NotAcknowledged::Unknown(reason)
                })
            }
        };
        self.report(DeliveryReport { token: opaque as u64, result });
    }
}

impl ClientContext for ProducerCallbacks {
    const ENABLE_REFRESH_OAUTH_TOKEN: bool = true;

    fn log(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        self.log.line(level, facility, text);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.log.error(&error, reason);
    }

    fn stats(&self, statistics: Statistics) {
        self.log.statistics(&statistics);
        if has_forgotten_brokers(&statistics) {
            self.end_reports();
        }
    }

    fn generate_oauth_token(&self, _: Option<&str>) -> Result<OAuthToken, Box<dyn Error>> {
        self.token.read()
    }
}
