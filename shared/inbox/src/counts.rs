//! Counts waiting messages and stopped partitions of the inbox, for the service's metrics.

use database::Database;
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use crate::parking::{PARKED, inbox_parked};
use crate::stopped::waiting_now;

/// The numbers of waiting messages and stopped partitions in one database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InboxCounts {
    /// Messages that wait for an operator.
    pub parked: i64,
    /// Messages that wait for an earlier one of their aggregate.
    pub held: i64,
    /// Partitions where the consumer waits for an operator.
    pub stopped_partitions: i64,
}

/// Reads the present numbers.
pub async fn counts(database: &Database) -> database::Result<InboxCounts> {
    let mut connection = database.connection().await?;
    let messages: Vec<(String, i64)> = inbox_parked::table
        .group_by(inbox_parked::state)
        .select((inbox_parked::state, count_star()))
        .load(&mut connection)
        .await?;
    let stopped_partitions = waiting_now().count().get_result(&mut connection).await?;
    let (parked, held): (Vec<_>, Vec<_>) = messages.into_iter().partition(|(state, _)| state == PARKED);
    let sum = |rows: Vec<(String, i64)>| rows.into_iter().map(|(_, count)| count).sum();
    Ok(InboxCounts { parked: sum(parked), held: sum(held), stopped_partitions })
}
