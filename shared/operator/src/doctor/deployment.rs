//! The deployment: the database is its own, and all members of its consumer group use this database.

use envelope::Topics;
use inbox::{Consumer, member_of};
use messaging::{Brokers, admin};
use uuid::Uuid;

use super::{DeploymentRow, Finding};

/// The database.
pub(super) fn examine(topics: &Topics, row: &DeploymentRow) -> Finding {
    match &row.mismatch {
        None => Finding::ok("deployment", format!("the database belongs to {}", topics.deployment())),
        Some((seen, cure)) => Finding::fault("deployment", seen, cure),
    }
}

/// The members of the consumer group. Those of another database take messages that this database never gets.
pub(super) async fn members(
    topics: &Topics,
    brokers: &Brokers,
    consumer: &Consumer,
    database: Uuid,
) -> Option<Finding> {
    let group = topics.group(consumer.name());
    let (all, own) = (member_of(&group, ""), member_of(&group, database));
    let mut members = admin::members(brokers, &group).await.ok()?;
    members.retain(|member| member.starts_with(&all) && !member.starts_with(&own));
    if members.is_empty() {
        return Some(Finding::ok("consumer group", format!("all members of {group} use this database")));
    }
    let seen = format!("members of {group} use another database: {}", members.join(", "));
    Some(Finding::fault("consumer group", seen, "stop them, and give their deployment another name"))
}
