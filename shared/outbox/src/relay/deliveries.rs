//! The messages of one term: sends them without waiting, and reads their delivery reports.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use envelope::Envelope;
use messaging::topics::{self, TopicState};
use messaging::{DeliveryReport, DeliveryReports, NotAcknowledged, PublishError, Publisher, Refusal};
use tokio::time::Instant;
use tracing::{Span, info_span};
use uuid::Uuid;

use super::blocked::BlockedEvents;
use super::{Relay, RelayError};
use crate::OutboxMetrics;
use crate::outbox_event::StoredEvent;
use crate::outgoing_record::OutgoingRecord;

/// How long a message is under way before the relay asks whether each partition has a leader.
const SILENCE: Duration = Duration::from_secs(5);

pub(super) struct Deliveries<'r> {
    relay: &'r Relay,
    publisher: Publisher,
    reports: DeliveryReports,
    /// The rows to send, in the order of ids.
    queued: VecDeque<StoredEvent>,
    /// The messages that are neither acknowledged nor blocked.
    in_flight: BTreeMap<i64, InFlight>,
    /// When the relay last asked for leaders.
    asked_at: Instant,
    /// The topics of this term's messages, and those with a partition that had no leader when the term began.
    topics: BTreeSet<String>,
    /// False once a span has shown that this process exports none. Without the exporter a span costs more than the sending.
    exports_spans: bool,
    pub(super) blocked: BlockedEvents,
    /// True if since the last checkpoint a message is done, or a gap has ended.
    pub(super) has_moved: bool,
}

struct InFlight {
    aggregate: Uuid,
    sent_at: Instant,
    /// It ends with the delivery report.
    span: Option<Span>,
}

impl<'r> Deliveries<'r> {
    /// Each term has its own producer. Otherwise messages that an earlier term queued could still be sent.
    pub(super) async fn start(relay: &'r Relay, leaderless: Vec<TopicState>) -> Result<Self, RelayError> {
        let topics = leaderless.iter().map(|topic| topic.name.clone()).collect();
        let blocked = BlockedEvents::load(&relay.database, leaderless).await?;
        let (publisher, reports) = Publisher::connect(&relay.brokers)?;
        Ok(Self {
            relay,
            publisher,
            reports,
            queued: VecDeque::new(),
            in_flight: BTreeMap::new(),
            asked_at: Instant::now(),
            topics,
            exports_spans: true,
            blocked,
            has_moved: false,
        })
    }

    /// Returns whether every message that was sent is acknowledged or blocked.
    pub(super) fn are_done(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// The ids of the rows that are neither acknowledged nor blocked.
    pub(super) fn undone(&self) -> impl Iterator<Item = i64> {
        self.in_flight.keys().copied().chain(self.queued.iter().map(|row| row.id))
    }

    /// Takes the rows of a page, which [`send_queued`](Self::send_queued) sends.
    pub(super) fn queue(&mut self, page: Vec<StoredEvent>) {
        self.queued.extend(page);
    }

    /// Sends the queued rows. The log names a message that is alone, and counts several.
    pub(super) async fn send_queued(&mut self) -> Result<(), RelayError> {
        let (rows, first_id) = (self.queued.len(), self.queued.front().map(|row| row.id));
        let last_id = self.queued.back().map(|row| row.id);
        let mut messages = 0;
        while let Some(row) = self.queued.pop_front() {
            let in_flight = InFlight { aggregate: row.aggregate_id, sent_at: Instant::now(), span: None };
            self.in_flight.insert(row.id, in_flight);
            messages += usize::from(self.publish(&row, rows == 1).await?);
        }
        if rows > 1 {
            tracing::info!(messages, first_id, last_id, "MessagesRelayed");
        }
        self.read_reports()
    }

    /// Goes on with a new producer: the present one remembers for minutes that a topic is missing. Nothing may be under way.
    pub(super) fn renew_producer(&mut self) -> Result<(), RelayError> {
        (self.publisher, self.reports) = Publisher::connect(&self.relay.brokers)?;
        Ok(())
    }

    /// Hands a message to the producer, and returns true. A message that cannot be published, and one behind such a message, is
    /// blocked instead.
    async fn publish(&mut self, row: &StoredEvent, is_named: bool) -> Result<bool, RelayError> {
        if self.blocked.contains(row.aggregate_id) {
            self.block(row.id, row.aggregate_id, None);
            return Ok(false);
        }
        let outgoing = match OutgoingRecord::new(row, &self.relay.topics) {
            Ok(outgoing) => outgoing,
            Err(reason) => {
                let refusal = Refusal { reason: reason.to_string(), unusable_topic: None };
                self.block(row.id, row.aggregate_id, Some(refusal));
                return Ok(false);
            }
        };
        let headers = outgoing.headers();
        let record = outgoing.record(&headers);
        if let Some(refusal) = self.blocked.refuses(&record) {
            self.block(row.id, row.aggregate_id, Some(refusal));
            return Ok(false);
        }
        let span = self.exports_spans.then(|| publish_span(&outgoing));
        loop {
            match self.publisher.publish(record, row.id.cast_unsigned()) {
                Ok(()) => break,
                // The queue is bounded; each report makes room for a record.
                Err(PublishError::Full) => self.next_report().await?,
                Err(error @ PublishError::Fatal { .. }) => return Err(error.into()),
                Err(PublishError::Refused(refusal)) => {
                    self.block(row.id, row.aggregate_id, Some(refusal));
                    return Ok(false);
                }
            }
        }
        if !self.topics.contains(&outgoing.topic) {
            self.topics.insert(outgoing.topic.clone());
        }
        crashpoint::reach!("relay.message_sent");
        log_relayed(&outgoing, is_named);
        if let Some(span) = span {
            self.exports_spans = traces::traceparent(&span).is_some();
            self.in_flight.entry(row.id).and_modify(|message| message.span = Some(span));
        }
        Ok(true)
    }

    /// Waits for one delivery report. Fails with `NoLeader` if none arrives because partitions have lost their leader.
    pub(super) async fn next_report(&mut self) -> Result<(), RelayError> {
        if self.has_report().await? { Ok(()) } else { self.ask_for_leaders().await }
    }

    /// Waits for one delivery report. Returns false if the first message is under way for too long; then
    /// [`ask_for_leaders`](Self::ask_for_leaders). It may be dropped before it has ended.
    pub(super) async fn has_report(&mut self) -> Result<bool, RelayError> {
        let first = self.in_flight.values().next();
        let since = first.map_or(self.asked_at, |first| first.sent_at.max(self.asked_at));
        match tokio::time::timeout_at(since + SILENCE, self.reports.next()).await {
            Ok(report) => self.handle(report.ok_or(RelayError::ProducerEnded)?).map(|()| true),
            Err(_) => Ok(false),
        }
    }

    /// Fails with `NoLeader` if partitions have lost their leader since the term began.
    pub(super) async fn ask_for_leaders(&mut self) -> Result<(), RelayError> {
        self.asked_at = Instant::now();
        let topics: Vec<String> = self.topics.iter().cloned().collect();
        // Without an answer no broker can be reached. Then all messages wait.
        let Ok(mut topics) = topics::describe(&self.relay.brokers, &topics).await else { return Ok(()) };
        topics.retain(|topic| !topic.has_leaders());
        if self.blocked.knows(&topics) { Ok(()) } else { Err(RelayError::NoLeader(topics)) }
    }

    /// Handles the delivery reports that have arrived, without waiting.
    fn read_reports(&mut self) -> Result<(), RelayError> {
        while let Some(report) = self.reports.try_next() {
            self.handle(report)?;
        }
        Ok(())
    }

    fn handle(&mut self, DeliveryReport { token, result }: DeliveryReport) -> Result<(), RelayError> {
        let id = token.cast_signed();
        let aggregate = self.in_flight.get(&id).map(|message| message.aggregate);
        match (result, aggregate) {
            // Later messages of the aggregate may be in the topic already. Consumers hold them until this one arrives.
            (Err(NotAcknowledged::Refused(refusal)), Some(aggregate)) => {
                self.block(id, aggregate, Some(refusal));
            }
            // An error ends the term, whether or not the message is in its topic. The next term sends again from the cursor.
            (result, _) => {
                result?;
                self.relay.database.metrics::<OutboxMetrics>().published.inc();
                self.finish(id);
            }
        }
        Ok(())
    }

    fn block(&mut self, id: i64, aggregate: Uuid, refusal: Option<Refusal>) {
        self.relay.database.metrics::<OutboxMetrics>().blocked.inc();
        self.blocked.add(id, aggregate, refusal);
        self.in_flight.get(&id).and_then(|message| message.span.as_ref()).into_iter().for_each(traces::fail);
        self.finish(id);
    }

    fn finish(&mut self, id: i64) {
        let Some(message) = self.in_flight.remove(&id) else { return };
        self.has_moved = true;
        message.span.iter().for_each(|span| span.in_scope(|| ())); // a span lasts until it was last entered
    }
}

/// Logs a message, with its trace. At `info` if the page's line does not count it.
fn log_relayed(outgoing: &OutgoingRecord<'_>, is_named: bool) {
    let OutgoingRecord { envelope: Envelope { id, kind, tenant, traceparent, .. }, topic, .. } = outgoing;
    let trace = traceparent.as_deref().and_then(traces::trace_id);
    if is_named {
        tracing::info!(event_id = %id, kind, topic, %tenant, trace, "MessageRelayed");
    } else {
        tracing::debug!(event_id = %id, kind, topic, %tenant, trace, "MessageRelayed");
    }
}

/// The span from the message's sending to its delivery report, in the trace in which the message was appended.
fn publish_span(outgoing: &OutgoingRecord<'_>) -> Span {
    let OutgoingRecord { envelope: Envelope { id, kind, tenant, traceparent, .. }, topic, .. } = outgoing;
    let trace = traceparent.as_deref().and_then(traces::trace_id);
    let span = info_span!(parent: None, "publish", event_id = %id, kind, topic, %tenant, trace);
    traces::follow(&span, traceparent.as_deref());
    span
}

impl Drop for Deliveries<'_> {
    fn drop(&mut self) {
        // The next relay sends these messages again. Otherwise this producer could still send them after it.
        self.publisher.purge();
    }
}
