//! Straight to Kafka, past the relay: rows that it has published are none of its business any more.

use std::collections::BTreeSet;
use std::time::Duration;

use contracts::Topics;
use messaging::{Acks, Brokers, PublishError, Publisher, PublisherSettings, admin, health};
use tokio::time::Instant;

use super::published::Published;
use super::words::Number;
use super::{OperatorContext, OperatorError};
use crate::letter::Letter;
use crate::rows::{self, StoredEvent};

/// Rows read at a time: some megabytes, if all are as large as an event may be.
const PAGE: usize = 100;

/// How long Kafka may take to answer at all.
const SOON: Duration = Duration::from_secs(5);

/// How long Kafka may acknowledge nothing: somebody waits at a terminal, and may begin anew at any time.
const PATIENCE: Duration = Duration::from_mins(1);

/// Between two lines for who waits.
const NEWS: Duration = Duration::from_secs(2);

/// A publisher that counts.
pub(super) struct Sending {
    brokers: Brokers,
    topics: Topics,
    publisher: Publisher,
    acks: Acks,
    /// Topics that are known to exist.
    known: BTreeSet<String>,
    messages: u64,
    taken: u64,
    acknowledged: u64,
}

impl Sending {
    /// Makes sure that Kafka is there.
    pub(super) async fn prepare(context: &OperatorContext, messages: u64) -> Result<Self, OperatorError> {
        let brokers = context.brokers.clone().ok_or(OperatorError::NoBrokers)?;
        health(&brokers, SOON).await?;
        // Nobody waits for a single message here, so they may wait for company.
        let settings = PublisherSettings {
            name: "idem-republish".to_owned(),
            linger: Duration::from_millis(5),
            ..PublisherSettings::default()
        };
        let (publisher, acks) = Publisher::connect(&brokers, settings)?;
        let (topics, known) = (context.topics.clone(), BTreeSet::new());
        Ok(Self { brokers, topics, publisher, acks, known, messages, taken: 0, acknowledged: 0 })
    }

    /// Sends everything, and returns once Kafka has it.
    pub(super) async fn send(
        mut self,
        published: &Published,
        tell: &mut (dyn FnMut(&str) + Send),
    ) -> Result<(), OperatorError> {
        let (messages, done) = (self.messages, self.all(published, tell).await);
        done.map_err(|why| OperatorError::Stopped { acknowledged: self.acknowledged, messages, why })
    }

    async fn all(
        &mut self,
        published: &Published,
        tell: &mut (dyn FnMut(&str) + Send),
    ) -> Result<(), String> {
        let mut told = Instant::now();
        for after in published.strides() {
            let ids = published.ids(after).await.map_err(|error| error.to_string())?;
            for page in ids.chunks(PAGE) {
                let rows =
                    rows::by_ids(published.database(), page).await.map_err(|error| error.to_string())?;
                for row in &rows {
                    self.one(row).await?;
                }
                if told.elapsed() >= NEWS {
                    told = Instant::now();
                    tell(&format!("{} of {} messages", Number(self.acknowledged), Number(self.messages)));
                }
            }
        }
        while self.acknowledged < self.taken {
            self.acknowledgement().await?;
        }
        Ok(())
    }

    async fn one(&mut self, row: &StoredEvent) -> Result<(), String> {
        let letter = Letter::of(row, &self.topics).map_err(|error| format!("row {}: {error}", row.id))?;
        if !self.known.contains(&letter.topic) {
            // The client would hope for it for half a minute, and then not say which one it was.
            admin::end_offsets(&self.brokers, &letter.topic).await.map_err(|error| error.to_string())?;
            self.known.insert(letter.topic.clone());
        }
        let headers = letter.headers();
        loop {
            match self.publisher.publish(letter.record(&headers), self.taken) {
                Ok(()) => break,
                Err(PublishError::Full) => self.acknowledgement().await?,
                Err(error) => return Err(format!("row {}: {error}", row.id)),
            }
        }
        self.taken += 1;
        Ok(())
    }

    /// Waits for one acknowledgement.
    async fn acknowledgement(&mut self) -> Result<(), String> {
        let silent = |_| format!("Kafka at {} has acknowledged nothing for {PATIENCE:?}", self.brokers);
        let ack = tokio::time::timeout(PATIENCE, self.acks.next()).await.map_err(silent)?;
        ack.ok_or("the producer has ended")?.result.map_err(|error| error.to_string())?;
        self.acknowledged += 1;
        Ok(())
    }
}
