//! The deployment: the database is its own, and all members of its consumer group use this database.

use database::Result;
use envelope::Topics;
use inbox::{Consumer, member_of};
use messaging::{Brokers, admin};

use super::Finding;
use crate::deployment::{Identity, cure};

/// The database. Without a row nothing has started, and without an answer there is another finding.
pub(super) fn examine(
    service: &str,
    topics: &Topics,
    identity: &Result<Option<Identity>>,
) -> Option<Finding> {
    let (identity, name) = (identity.as_ref().ok()?.as_ref()?, topics.deployment());
    Some(match identity.mismatch(name) {
        None => Finding::ok("deployment", format!("the database belongs to {name}")),
        Some(seen) => Finding::fault("deployment", seen, cure(service, name)),
    })
}

/// The members of the consumer group. Those of another database take messages that this database never gets.
pub(super) async fn members(
    topics: &Topics,
    brokers: &Brokers,
    consumer: &Consumer,
    identity: &Identity,
) -> Option<Finding> {
    let group = topics.group(consumer.name());
    let (all, own) = (member_of(&group, ""), member_of(&group, identity.id));
    let mut members = admin::members(brokers, &group).await.ok()?;
    members.retain(|member| member.starts_with(&all) && !member.starts_with(&own));
    if members.is_empty() {
        return Some(Finding::ok("consumer group", format!("all members of {group} use this database")));
    }
    let seen = format!("members of {group} use another database: {}", members.join(", "));
    Some(Finding::fault("consumer group", seen, "stop them, and give their deployment another name"))
}
