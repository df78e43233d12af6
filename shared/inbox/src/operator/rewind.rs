//! `rewind`: sets the committed offsets of the consumer group back, so that the consumer reads messages again.
//!
//! The inbox ignores messages that took effect before. Offsets are never set forward: that would skip messages.

use std::collections::BTreeMap;

use audit::{Fact, Operator};
use clap::Args;
use database::time::from_rfc3339;
use envelope::Stream;
use messaging::{Brokers, admin};
use serde::Serialize;
use serde_json::json;

use super::table::table;
use super::{CommandOutput, OperatorContext, OperatorError};

/// The arguments.
#[derive(Debug, Args)]
pub struct Rewind {
    #[command(flatten)]
    target: Target,
    /// Only this topic, with or without its prefix
    #[arg(long)]
    topic: Option<String>,
    #[command(flatten)]
    operator: Operator,
    /// Print the new offsets, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
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
    dry_run: bool,
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
    pub(super) async fn run(self, context: &OperatorContext) -> Result<CommandOutput, OperatorError> {
        let brokers = context.brokers.as_ref().ok_or(OperatorError::NoBrokers)?;
        let group = context.topics.group(context.consumer.name());
        let mut report = Report {
            dry_run: self.dry_run,
            rewound: false,
            refused: None,
            members: admin::members(brokers, &group).await?,
            places: Vec::new(),
            group,
        };
        match self.topics(context) {
            Ok(topics) => report.places = self.partitions(brokers, &report.group, topics).await?,
            Err(refused) => report.refused = Some(refused),
        }
        if report.refused.is_none() && !report.members.is_empty() {
            report.refused = Some(format!(
                "the consumer group {} still has members; stop every instance of the service (they leave within \
                 seconds, killed ones within ten) and try again",
                report.group
            ));
        }
        if report.refused.is_none() && !report.places.is_empty() && !self.dry_run {
            self.rewind(context, brokers, &report).await?;
            report.rewound = true;
        }
        Ok(CommandOutput::new(self.json, report.refused.is_none(), &report, Report::text))
    }

    fn topics(&self, context: &OperatorContext) -> Result<Vec<String>, String> {
        let streams = context.consumer.streams().iter();
        let all: Vec<String> = streams.clone().map(|stream| context.topics.events(*stream)).collect();
        let Some(topic) = &self.topic else { return Ok(all) };
        let plain = streams.map(|stream| Stream::topic(*stream)).zip(&all);
        let found = plain.filter(|(plain, full)| plain == topic || *full == topic);
        let found: Vec<String> = found.map(|(_, full)| full.clone()).collect();
        if found.is_empty() {
            return Err(format!(
                "{} does not read {topic}; it reads {}",
                context.consumer.name(),
                all.join(", ")
            ));
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
        context: &OperatorContext,
        brokers: &Brokers,
        report: &Report,
    ) -> Result<(), OperatorError> {
        let mut tx = context.database.begin().await?;
        let fact = Fact::by_operator(&self.operator, None, "inbox.rewind", "consumer", &report.group);
        audit::record(&mut tx, fact.with(json!({ "places": report.places })));
        tx.commit().await?;
        let offsets = report.places.iter().map(|place| ((place.topic.clone(), place.partition), place.to));
        Ok(admin::set_group_offsets(brokers, &report.group, &offsets.collect()).await?)
    }
}

impl Report {
    fn text(&self) -> String {
        let group = &self.group;
        if let Some(refused) = &self.refused {
            let members = self.members.iter().map(|member| format!("  member: {member}\n"));
            return format!("not rewound: {refused}\n{}", members.collect::<String>());
        }
        if self.places.is_empty() {
            return format!("no committed offset of the group {group} is later: nothing to rewind\n");
        }
        let rows: Vec<Vec<String>> = self
            .places
            .iter()
            .map(|place| {
                vec![
                    place.topic.clone(),
                    place.partition.to_string(),
                    place.from.to_string(),
                    place.to.to_string(),
                ]
            })
            .collect();
        let end = if self.dry_run { "this was a dry run: nothing was changed\n" } else { "" };
        format!("group {group}\n{}{end}", table(&["topic", "partition", "from", "to"], &rows))
    }
}
