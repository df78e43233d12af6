//! `inbox rewind`: sets the committed offsets of the consumer group back, so that the consumer reads messages again.
//!
//! The inbox ignores messages that took effect before. Offsets are never set forward: that would skip messages.

use std::collections::BTreeMap;
use std::error::Error;

use ::inbox::Consumer;
use clap::Args;
use database::time::from_rfc3339;
use envelope::Stream;
use messaging::{Brokers, admin};
use serde::Serialize;
use serde_json::json;

use crate::{Change, CommandOutput, Installation};

/// The arguments.
#[derive(Debug, Args)]
pub struct Rewind {
    #[command(flatten)]
    target: Target,
    /// Only this topic, with or without its prefix
    #[arg(long)]
    topic: Option<String>,
    #[command(flatten)]
    change: Change,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Target {
    /// Read from the first message of each partition
    #[arg(long)]
    to_beginning: bool,
    /// Read from the first message that was published at this time (RFC 3339) or later
    #[arg(long, value_name = "TIME", value_parser = milliseconds)]
    since: Option<i64>,
}

fn milliseconds(text: &str) -> Result<i64, &'static str> {
    let time = from_rfc3339(text).ok_or("must be RFC 3339, such as 2026-11-20T08:00:00Z")?;
    Ok(time.timestamp_millis())
}

/// The result.
#[derive(Serialize)]
struct Report {
    group: String,
    /// Whether the offsets were set.
    rewound: bool,
    /// Why the offsets were not set.
    refused: Option<String>,
    /// The members that the group still has.
    members: Vec<String>,
    /// The partitions whose offset is set back.
    places: Vec<PartitionRewind>,
}

/// The committed offset of one partition, before and after.
#[derive(Serialize)]
struct PartitionRewind {
    topic: String,
    partition: i32,
    from: i64,
    to: i64,
}

impl Rewind {
    pub(super) async fn run(self, context: &Installation) -> Result<CommandOutput, Box<dyn Error>> {
        let (brokers, consumer) = (context.brokers()?, context.consumer()?);
        let group = context.topics.group(consumer.name());
        let members = admin::members(brokers, &group).await?;
        let mut report = Report { group, rewound: false, refused: None, members, places: Vec::new() };
        match self.topics(context, consumer) {
            Ok(topics) => report.places = self.partitions(brokers, &report.group, topics).await?,
            Err(refused) => report.refused = Some(refused),
        }
        let group = &report.group;
        if report.refused.is_none() && !report.members.is_empty() {
            report.refused = Some(format!(
                "the consumer group {group} still has members; stop every instance of the service (they leave within \
                 seconds, killed ones within ten) and try again"
            ));
        }
        let sentence = match &report.refused {
            Some(refused) => format!("not rewound: {refused}"),
            None if report.places.is_empty() => {
                format!("no committed offset of the group {group} is later: nothing to rewind")
            }
            None => format!("the group {group} is rewound"),
        };
        if report.refused.is_none() && !report.places.is_empty() && !self.change.is_dry_run() {
            self.rewind(context, brokers, &report).await?;
            report.rewound = true;
        }
        Ok(self.change.output(report.refused.is_none(), &sentence, &report))
    }

    fn topics(&self, context: &Installation, consumer: &Consumer) -> Result<Vec<String>, String> {
        let streams = consumer.streams().iter();
        let all: Vec<String> = streams.clone().map(|stream| context.topics.events(*stream)).collect();
        let Some(topic) = &self.topic else { return Ok(all) };
        let plain = streams.map(|stream| Stream::topic(*stream)).zip(&all);
        let found = plain.filter(|(plain, full)| plain == topic || *full == topic);
        let found: Vec<String> = found.map(|(_, full)| full.clone()).collect();
        if found.is_empty() {
            return Err(format!("{} does not read {topic}; it reads {}", consumer.name(), all.join(", ")));
        }
        Ok(found)
    }

    /// Compares the committed offsets with the target.
    async fn partitions(
        &self,
        brokers: &Brokers,
        group: &str,
        topics: Vec<String>,
    ) -> Result<Vec<PartitionRewind>, messaging::Error> {
        let mut partitions = Vec::new();
        for topic in topics {
            let committed = admin::committed_offsets(brokers, group, &topic).await?;
            let targets: BTreeMap<i32, i64> =
                admin::offsets_since(brokers, &topic, self.target.since).await?;
            for (partition, to) in targets {
                // Without a committed offset, the group starts at the first message anyway.
                if let Some(from) = committed.get(&partition).copied().flatten()
                    && to < from
                {
                    partitions.push(PartitionRewind { topic: topic.clone(), partition, from, to });
                }
            }
        }
        Ok(partitions)
    }

    /// Commits the fact before it sets the first offset, so that an interrupted rewind is known and can be repeated. No
    /// transaction is open during the requests to Kafka.
    async fn rewind(
        &self,
        context: &Installation,
        brokers: &Brokers,
        report: &Report,
    ) -> Result<(), Box<dyn Error>> {
        let mut tx = context.database.begin().await?;
        let fact = self.change.fact(None, "inbox.rewind", "consumer", &report.group);
        audit::record(&mut tx, fact.with(json!({ "places": report.places })));
        tx.commit().await?;
        let offsets = report.places.iter().map(|place| ((place.topic.clone(), place.partition), place.to));
        Ok(admin::set_group_offsets(brokers, &report.group, &offsets.collect()).await?)
    }
}
