//! The brokers: reachable, with every topic that the service needs, and without a long way to go for its consumer.

use std::collections::BTreeMap;

use envelope::Topics;
use inbox::Consumer;
use messaging::topics::{TopicSpec, TopicState, describe};
use messaging::{Brokers, admin};

use super::{Expected, Finding, deployment};
use crate::Installation;

/// The lag at which the alert `ConsumerLagGrows` looks, in messages.
const LAG: i64 = 1_000;

/// The subject of the properties of topics.
const PROPERTIES: &str = "topic properties";
const POLICY: &str = "cleanup.policy";
const MIN_IN_SYNC: &str = "min.insync.replicas";

pub(super) async fn examine(installation: &Installation, expected: &Expected) -> Vec<Finding> {
    let Installation { topics, consumer, brokers: Some(brokers), .. } = installation else {
        return Vec::new();
    };
    let needed = &expected.topics;
    let names: Vec<String> = needed.iter().map(|topic| topic.name.clone()).collect();
    let found = match describe(brokers, &names).await {
        Ok(found) => found,
        Err(error) => {
            let cure =
                "start the brokers, or correct IDEM_KAFKA__BROKERS; events wait in the outbox meanwhile";
            return vec![Finding::fault("Kafka", error, cure)];
        }
    };
    let mut findings: Vec<Finding> = needed.iter().map(|topic| examine_topic(topic, &found)).collect();
    findings.extend(examine_replicas(&found));
    if !found.is_empty() {
        findings.push(examine_properties(brokers, &found).await);
    }
    if let Some(consumer) = consumer {
        if let Some(row) = &expected.deployment {
            findings.extend(deployment::members(topics, brokers, consumer, row.id).await);
        }
        findings.push(lag(topics, brokers, consumer).await);
    }
    findings
}

fn examine_topic(needed: &TopicSpec, found: &[TopicState]) -> Finding {
    let subject = format!("topic {}", needed.name);
    let Some(topic) = found.iter().find(|topic| topic.name == needed.name) else {
        return Finding::fault(
            subject,
            "does not exist",
            "start an instance: it creates the topics that it needs",
        );
    };
    let (partitions, leaderless) = (topic.partitions, topic.leaderless.len());
    let (seen, expected) =
        (format!("partitions: {partitions}"), u32::try_from(needed.partitions).unwrap_or_default());
    if partitions < expected {
        let cure = format!("add partitions up to {expected} (docs/operations.md#partitions-are-added)");
        return Finding::fault(subject, seen, cure);
    }
    if leaderless > 0 {
        let seen = format!("{leaderless} of {partitions} partitions have no leader");
        return Finding::fault(
            subject,
            seen,
            "start the brokers of these partitions; their events wait in the outbox",
        );
    }
    Finding::ok(subject, seen)
}

/// The topic with the fewest replicas, and the one with the fewest in sync. None of the topics may exist.
fn examine_replicas(found: &[TopicState]) -> Option<Finding> {
    let (replicas, in_sync) =
        (found.iter().map(|topic| topic.replicas).min()?, found.iter().map(|topic| topic.in_sync).min()?);
    let seen = format!("every topic has {replicas} or more, {in_sync} of them in sync");
    Some(if in_sync < replicas {
        Finding::warning("replicas", seen, "start the brokers that are away")
    } else if replicas == 1 {
        let cure = "with one broker, a lost disk loses messages; the outbox has those of its last days (outbox republish)";
        Finding::warning("replicas", seen, cure)
    } else {
        Finding::ok("replicas", seen)
    })
}

/// The properties without which a topic loses events.
async fn examine_properties(brokers: &Brokers, found: &[TopicState]) -> Finding {
    let names: Vec<String> = found.iter().map(|topic| topic.name.clone()).collect();
    match admin::topic_properties(brokers, &names, &[POLICY, MIN_IN_SYNC]).await {
        Ok(properties) => judge_properties(found, &properties),
        Err(error) => {
            let cure = "give the user DescribeConfigs on these topics, or look by the cluster's tools";
            Finding::warning(PROPERTIES, error, cure)
        }
    }
}

fn judge_properties(found: &[TopicState], properties: &BTreeMap<(String, &'static str), String>) -> Finding {
    let of = |topic: &TopicState, property| properties.get(&(topic.name.clone(), property));
    let compacted = found.iter().find(|topic| of(topic, POLICY).is_some_and(|it| it.contains("compact")));
    if let Some(topic) = compacted {
        let cure = format!("set {POLICY}=delete: compaction removes events that a consumer has not read");
        return Finding::fault(PROPERTIES, format!("{} is compacted", topic.name), cure);
    }
    let risky =
        |topic: &&TopicState| topic.replicas > 1 && of(topic, MIN_IN_SYNC).is_some_and(|it| it == "1");
    match found.iter().find(risky) {
        Some(topic) => Finding::warning(
            PROPERTIES,
            format!("{} has {MIN_IN_SYNC}=1", topic.name),
            format!("set {MIN_IN_SYNC}=2: otherwise an acknowledged event may be on one disk alone"),
        ),
        None => Finding::ok(PROPERTIES, "records stay for the time of retention"),
    }
}

/// The messages that the consumer group has not committed.
async fn lag(topics: &Topics, brokers: &Brokers, consumer: &Consumer) -> Finding {
    let group = topics.group(consumer.name());
    let mut messages = 0;
    for stream in consumer.streams() {
        let topic = topics.events(*stream);
        let ranges = admin::offset_ranges(brokers, &topic).await;
        let committed = admin::committed_offsets(brokers, &group, &topic).await;
        match (ranges, committed) {
            (Ok(ranges), Ok(committed)) => {
                let mut missing = 0;
                for (partition, (first, end)) in ranges {
                    let next = committed.get(&partition).copied().flatten().unwrap_or(first);
                    missing += (first - next).max(0);
                    messages += end - next.max(first);
                }
                if missing > 0 {
                    let seen = format!("{missing} records of {topic} were removed before {group} read them");
                    let sender = stream.name();
                    let cure = format!(
                        "start an instance, then `{sender} outbox republish --since` (docs/repairs.md#records-are-missing)"
                    );
                    return Finding::fault("consumer", seen, cure);
                }
            }
            (Err(error), _) | (_, Err(error)) => {
                return Finding::fault("consumer", error, "run this command again once its topics are well");
            }
        }
    }
    let seen = format!("the group {group} has {messages} messages to read");
    if messages <= LAG {
        return Finding::ok("consumer", seen);
    }
    Finding::warning(
        "consumer",
        seen,
        "start more instances, up to one for each partition (docs/alerts.md#consumerlaggrows)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Grade;

    /// The finding about a topic with so many replicas.
    fn judged(replicas: usize, policy: &str, min_in_sync: &str) -> Finding {
        let (name, leaderless) = ("orders.events".to_owned(), [].into());
        let values = [(POLICY, policy), (MIN_IN_SYNC, min_in_sync)];
        let properties = values.map(|(property, value)| ((name.clone(), property), value.to_owned())).into();
        let topic = TopicState { name, partitions: 6, leaderless, replicas, in_sync: replicas };
        judge_properties(&[topic], &properties)
    }

    #[test]
    fn of_several_replicas_one_in_sync_must_not_suffice_and_compaction_is_a_fault() {
        for (replicas, policy, min_in_sync, grade) in [
            (1, "delete", "1", Grade::Ok),
            (2, "delete", "1", Grade::Warning),
            (3, "delete", "2", Grade::Ok),
            (3, "compact,delete", "2", Grade::Fault),
        ] {
            let finding = judged(replicas, policy, min_in_sync);
            assert_eq!(finding.grade, grade, "{finding:?}");
        }
    }
}
